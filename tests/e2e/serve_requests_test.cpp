// Thousands of requests of all kinds to a server with matrices in FP8: each gets its reply, and no
// block of the cache is lost. ASSAY_SERVED_REQUESTS says how many; by default few.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <deque>
#include <thread>

#include "core/json.h"
#include "e2e/served.h"
#include "support/one_cpu.h"

namespace assay {
namespace {

using ::testing::HasSubstr;

constexpr int kinds_of_requests = 5, clients = 16;

int wanted_requests() {
  constexpr int few = 500;
  const char* const wanted = std::getenv("ASSAY_SERVED_REQUESTS");
  return wanted != nullptr ? std::atoi(wanted) : few;
}

/// `shared` tokens that many prompts have, and `own` ones.
std::vector<int> prompt_tokens(int number, int shared, int own) {
  std::vector<int> tokens;
  for (int i = 0; i < shared; ++i) tokens.push_back((7 * i + 3) % 300);
  for (int i = 0; i < own; ++i) tokens.push_back((number * 31 + 17 * i) % 300);
  return tokens;
}

int reply_tokens(int number) {
  return 1 + number * 7 % 9;
}

/// Sends request `number`; true: all of its reply has come, or it was left early on purpose.
bool is_answered(std::uint16_t port, int number) {
  Json body = {{"prompt", prompt_tokens(number, 0, 1 + number % 20)},
               {"max_tokens", reply_tokens(number)}};
  switch (number % kinds_of_requests) {
    case 0:
      break;
    case 1:  // with a prefix that is in the cache
      body["prompt"] = prompt_tokens(number, 48, number % 12);
      break;
    case 2:
      body.update({{"temperature", 0.8},
                   {"top_p", 0.95},
                   {"min_p", 0.01},
                   {"seed", number},
                   {"presence_penalty", 0.5},
                   {"repetition_penalty", 1.1}});
      break;
    case 3:
      body.update({{"stream", true}, {"logprobs", number % 21}, {"temperature", number % 2}});
      break;
    default: {  // a client that leaves
      body.update({{"stream", true}, {"max_tokens", 60}});
      Client client(port);
      client.send(post("/v1/completions", body.dump()));
      const bool waits = number % 2 == 0;
      return !waits || client.read_until("\"text\"").find("\"text\"") != std::string::npos;
    }
  }
  const std::string reply = ask(port, post("/v1/completions", body.dump()));
  if (body.contains("stream")) {
    return count(reply, "\"token_logprobs\"") == static_cast<std::size_t>(reply_tokens(number)) &&
           count(reply, "data: [DONE]") == 1;
  }
  const Json whole = Json::parse(body_of(reply), nullptr, false);
  return whole.is_object() && whole.contains("usage") &&
         whole["usage"]["completion_tokens"] == reply_tokens(number);
}

/// Long replies to more clients than the cache has room for. The server is stopped while they send,
/// so that it finds all requests at once. Returns how many replies are whole.
int answered_together(const Process& server, std::uint16_t port) {
  constexpr int tokens = 110;
  server.signal(SIGSTOP);
  std::deque<Client> waiting;
  for (int number = 0; number < clients; ++number) {
    const Json body = {{"prompt", prompt_tokens(number, 0, 3)}, {"max_tokens", tokens}};
    waiting.emplace_back(port).send(post("/v1/completions", body.dump()));
  }
  server.signal(SIGCONT);
  return static_cast<int>(std::ranges::count_if(waiting, [](Client& client) {
    const Json whole = Json::parse(body_of(client.read_all()), nullptr, false);
    return whole.is_object() && whole.contains("usage") &&
           whole["usage"]["completion_tokens"] == tokens;
  }));
}

TEST(ServedRequests, AreAllAnsweredAndLoseNoBlockInFp8) {
  const OneCpu one_cpu;
  Process server({"serve", "--device", "cpu", "--port", "0", "--model", "1L2H1K16D32C48F300V",
                  "--precision", "bf16", "--quantization", "fp8", "--max-model-len", "128",
                  "--max-num-seqs", "8", "--max-num-batched-tokens", "64",
                  // less than eight sequences may need, so that some are computed again
                  "--num-gpu-blocks-override", "12"});
  const auto ports = ports_of(server, 1);
  ASSERT_EQ(ports.size(), 1u) << server.error_text();
  const std::uint16_t port = ports[0];
  EXPECT_EQ(answered_together(server, port), clients);
  EXPECT_NE(metric(port, "vllm:num_preemptions_total"), "0");
  const int requests = wanted_requests();
  std::atomic<int> next = 0, answered = 0;
  std::atomic<bool> is_lost = false;
  std::vector<std::thread> threads;
  for (int i = 0; i < clients; ++i) {
    threads.emplace_back([&] {
      // A server that has lost its blocks answers nobody, and each client waits for a minute.
      for (int number = next++; number < requests && !is_lost; number = next++) {
        const bool is_well = is_answered(port, number);
        answered += is_well ? 1 : 0;
        if (!is_well) is_lost = true;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(answered, requests);
  // Clients that left may have been noticed late.
  const auto begin = std::chrono::steady_clock::now();
  const auto is_idle = [&] {
    return metric(port, "vllm:num_requests_running") == "0" &&
           metric(port, "vllm:num_requests_waiting") == "0";
  };
  while (!is_idle() && seconds_since(begin) < 60) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_TRUE(is_idle());
  EXPECT_EQ(metric(port, "assay_kv_cache_blocks"), "12");
  EXPECT_EQ(metric(port, "assay_kv_cache_free_blocks"), "12");
  EXPECT_NE(metric(port, "vllm:prefix_cache_hits_total"), "0");
  std::printf("%d requests, %s preempted, %s tokens from the prefix cache\n", requests,
              metric(port, "vllm:num_preemptions_total").c_str(),
              metric(port, "vllm:prefix_cache_hits_total").c_str());
  server.signal(SIGTERM);
  const Outcome end = server.wait();
  EXPECT_EQ(end.status, 0) << end.err;
  EXPECT_THAT(end.err, HasSubstr("; 12 of 12 blocks"));
}

}  // namespace
}  // namespace assay

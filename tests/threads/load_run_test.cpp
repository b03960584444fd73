// The load generator against a server that says what a test wants: what is sent when, and what is
// made of every way a reply can go.
#include "serving/client/load_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cmath>
#include <nlohmann/json.hpp>
#include <thread>

#include "scripted_server.h"
#include "serving/client/flight.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Client = ScriptedServer::Client;

class Texts final : public Prompts {
 public:
  explicit Texts(std::size_t count, bool conversation = false)
      : count_(count), conversation_(conversation) {}
  std::size_t size() const override { return count_; }
  Prompt at(std::size_t index) const override {
    Prompt prompt;
    prompt.text = "question " + std::to_string(index);
    prompt.tokens = 5;
    prompt.output_tokens = 3;
    prompt.conversation = conversation_ ? 0 : index;
    prompt.turn = conversation_ ? index : 0;
    prompt.think_seconds = prompt.turn > 0 ? 0.05 : 0;
    return prompt;
  }
  bool follows(std::size_t index) const override { return conversation_ && index > 0; }

 private:
  std::size_t count_;
  bool conversation_;
};

LoadOutcome load(const ScriptedServer& server, LoadPlan plan, const Prompts& prompts) {
  std::vector<Endpoint> targets;
  auto endpoint = find_endpoint(*parse_url(server.url()), false);
  EXPECT_TRUE(endpoint.ok()) << endpoint.error().message;
  targets.push_back(*endpoint);
  auto outcome = run_load(plan, prompts, targets, nullptr, nullptr);
  EXPECT_TRUE(outcome.ok());
  return std::move(*outcome);
}

LoadPlan closed(std::size_t concurrency) {
  LoadPlan plan;
  plan.max_concurrency = concurrency;
  plan.silence_seconds = 0.5;
  return plan;
}

void answer(Client& client) {
  client.begin_stream();
  for (const char* text : {"a", "b", "c"}) client.token(text);
  client.usage(5, 3);
  client.end_stream();
}

/// The log of one request whose reply is `reply`; then another one is answered well.
RequestLog log_of(const std::function<void(Client&)>& reply, LoadPlan plan = closed(1)) {
  ScriptedServer server([&](Client& client, int number, const std::string&) {
    // The connection made to find the server sends nothing.
    if (number == 0) return reply(client);
    answer(client);
  });
  const LoadOutcome outcome = load(server, std::move(plan), Texts(2));
  EXPECT_EQ(outcome.logs.size(), 2u);
  EXPECT_TRUE(outcome.logs[1].succeeded()) << outcome.logs[1].error;
  EXPECT_EQ(outcome.logs[1].output_tokens, 3u);
  return outcome.logs[0];
}

class LongText final : public Prompts {
 public:
  static constexpr std::size_t bytes = 24 << 20;  // more than the buffers of a connection take
  std::size_t size() const override { return 1; }
  Prompt at(std::size_t) const override {
    Prompt prompt;
    prompt.text = std::string(bytes, 'x');
    prompt.text += "the end";
    prompt.tokens = 5;
    prompt.output_tokens = 3;
    return prompt;
  }
  bool follows(std::size_t) const override { return false; }
};

TEST(LoadRun, ARequestThatIsLongerThanTheSocketTakesArrivesWhole) {
  std::atomic<std::size_t> size = 0;
  std::atomic<bool> whole = false;
  ScriptedServer server([&](Client& client, int, const std::string& body) {
    size = body.size();
    whole = body.find("xthe end\"") != std::string::npos && body.ends_with('}');
    answer(client);
  });
  LoadPlan plan = closed(1);
  plan.silence_seconds = 30;
  const LoadOutcome outcome = load(server, plan, LongText());
  ASSERT_EQ(outcome.logs.size(), 1u);
  EXPECT_TRUE(outcome.logs[0].succeeded()) << outcome.logs[0].error;
  EXPECT_GT(size, LongText::bytes);
  EXPECT_TRUE(whole);
}

TEST(LoadRun, TokensHaveTheTimeAtWhichTheyCame) {
  std::array<std::atomic<double>, 30> sent = {};
  ScriptedServer server([&](Client& client, int, const std::string&) {
    client.begin_stream();
    for (std::atomic<double>& time : sent) {
      time = std::chrono::duration<double>(LoadClock::now().time_since_epoch()).count();
      client.token("a");
      client.wait(0.04);
    }
    client.end_stream();
  });
  auto endpoint = find_endpoint(*parse_url(server.url()), false);
  ASSERT_TRUE(endpoint.ok());
  // A client that is busy with something else for a fifth of its time.
  const auto held_up = [](const LoadState&) {
    std::this_thread::sleep_for(std::chrono::milliseconds(25));
  };
  const auto outcome = run_load(closed(1), Texts(1), {*endpoint}, nullptr, held_up);
  ASSERT_TRUE(outcome.ok());
  const RequestLog& log = outcome->logs[0];
  ASSERT_EQ(log.gaps.size(), 29u);
  int wrong = 0;
  for (std::size_t i = 0; i < log.gaps.size(); ++i) {
    wrong += std::abs(log.gaps[i] - (sent[i + 1] - sent[i])) > 0.008;
  }
  EXPECT_LE(wrong, 4) << "of 29; about 8 by the time of reading";
}

TEST(LoadRun, AWholeReplyIsTimedAndCounted) {
  const RequestLog log = log_of([](Client& client) {
    client.begin_stream();
    client.wait(0.02);
    client.token("a");
    client.wait(0.03);
    client.token("b");
    client.usage(5, 2);
    client.end_stream();
  });
  EXPECT_TRUE(log.succeeded());
  EXPECT_GE(log.first - log.sent, 0.02);
  ASSERT_EQ(log.gaps.size(), 1u);
  EXPECT_GE(log.gaps[0], 0.029);
  EXPECT_TRUE(log.counted);
  EXPECT_EQ(log.prompt_tokens, 5u);
  EXPECT_EQ(log.output_tokens, 2u);
  EXPECT_LE(log.last, log.end);
}

TEST(LoadRun, AResetWithinAReplyIsBroken) {
  const RequestLog log = log_of([](Client& client) {
    client.begin_stream();
    client.token("a");
    client.wait(0.02);
    client.reset();
  });
  EXPECT_EQ(log.reply_end, ReplyEnd::broken);
  EXPECT_GE(log.first, 0);
  EXPECT_FALSE(log.error.empty());
}

TEST(LoadRun, AnEndWithinAReplyIsBroken) {
  const RequestLog log = log_of([](Client& client) {
    client.begin_stream();
    client.token("a");
    client.close();
  });
  EXPECT_EQ(log.reply_end, ReplyEnd::broken);
  EXPECT_THAT(log.error, HasSubstr("closed the connection within its reply"));
}

TEST(LoadRun, OtherStatusesAreRefusalsWithTheServersWords) {
  for (const auto& [status, text] : {std::pair(429, "Too Many"), std::pair(503, "overloaded")}) {
    const RequestLog log = log_of([&](Client& client) {
      const std::string body = fmt::format(R"({{"error":{{"message":"{}"}}}})", text);
      client.say(fmt::format("HTTP/1.1 {} x\r\nRetry-After: 1\r\nContent-Length: {}\r\n\r\n{}",
                             status, body.size(), body));
    });
    EXPECT_EQ(log.reply_end, ReplyEnd::refused);
    EXPECT_EQ(log.error, fmt::format("HTTP {}: {}", status, text));
  }
}

TEST(LoadRun, AServerThatFallsSilentIsGivenUp) {
  const RequestLog log = log_of([](Client& client) {
    client.begin_stream();
    client.token("a");
    client.wait(1.0);
  });
  EXPECT_EQ(log.reply_end, ReplyEnd::silent);
  EXPECT_GE(log.first, 0);
}

TEST(LoadRun, ACharacterInTwoChunksIsOneText) {
  const RequestLog log = log_of([](Client& client) {
    client.begin_stream();
    client.chunk("data: {\"choices\":[{\"text\":\"\xe2\x82");
    client.wait(0.01);
    client.chunk("\xac\"}]}\n\n");
    client.usage(5, 1);
    client.end_stream();
  });
  EXPECT_TRUE(log.succeeded()) << log.error;
  EXPECT_EQ(log.output_tokens, 1u);
}

TEST(LoadRun, SeveralEventsInOneChunkAndOneInTenWritesCountAsTheyAre) {
  const std::string token = R"(data: {"choices":[{"text":"x"}]})";
  const RequestLog merged = log_of([&](Client& client) {
    client.begin_stream();
    client.chunk(token + "\n\n" + token + "\r\n\r\n" + token + "\n\n");
    client.usage(5, 3);
    client.end_stream();
  });
  EXPECT_EQ(merged.gaps.size(), 2u);
  const RequestLog split = log_of([&](Client& client) {
    client.begin_stream();
    const std::string chunk = fmt::format("{:x}\r\n{}\n\n\r\n", token.size() + 2, token);
    for (std::size_t at = 0; at < chunk.size(); at += 4) {
      client.say(chunk.substr(at, 4));
      client.wait(0.001);
    }
    client.usage(5, 1);
    client.end_stream();
  });
  EXPECT_TRUE(split.succeeded()) << split.error;
  EXPECT_EQ(split.gaps.size(), 0u);
  EXPECT_EQ(split.output_tokens, 1u);
}

TEST(LoadRun, AStreamWithoutItsEndMarkIsUnfinished) {
  const RequestLog log = log_of([](Client& client) {
    client.begin_stream();
    client.token("a");
    client.say("0\r\n\r\n");
  });
  EXPECT_EQ(log.reply_end, ReplyEnd::unfinished);
  EXPECT_THAT(log.error, HasSubstr("[DONE]"));
}

TEST(LoadRun, WithoutUsageEventsStandForTokens) {
  const RequestLog log = log_of([](Client& client) {
    client.begin_stream();
    client.token("a");
    client.token("b");
    client.end_stream();
  });
  EXPECT_TRUE(log.succeeded());
  EXPECT_FALSE(log.counted);
  EXPECT_EQ(log.output_tokens, 2u);
}

TEST(LoadRun, ALineOfTenMegabytesIsRead) {
  const RequestLog log = log_of([](Client& client) {
    client.begin_stream();
    client.token(std::string(10 << 20, 'x'));
    client.usage(5, 1);
    client.end_stream();
  });
  EXPECT_TRUE(log.succeeded()) << log.error;
  EXPECT_EQ(log.output_tokens, 1u);
}

TEST(LoadRun, AReplyWithoutATokenIsEmpty) {
  const RequestLog log = log_of([](Client& client) {
    client.begin_stream();
    client.usage(5, 0);
    client.end_stream();
  });
  EXPECT_TRUE(log.empty());
  EXPECT_FALSE(log.succeeded());
}

TEST(LoadRun, NonsenseIsMalformed) {
  for (const char* nonsense : {"data: {\"choices\":[\n\n", "data: no json\n\n"}) {
    const RequestLog log = log_of([&](Client& client) {
      client.begin_stream();
      client.token("a");
      client.chunk(nonsense);
      client.end_stream();
    });
    EXPECT_EQ(log.reply_end, ReplyEnd::malformed);
  }
  const RequestLog log = log_of([](Client& client) {
    client.say("SSH-2.0-OpenSSH_9.2\r\n\r\n");
    client.close();
  });
  EXPECT_EQ(log.reply_end, ReplyEnd::malformed);
}

TEST(LoadRun, AnErrorWithinAStreamIsARefusal) {
  const RequestLog log = log_of([](Client& client) {
    client.begin_stream();
    client.token("a");
    client.event(R"({"error":{"message":"engine died","code":500}})");
    client.end_stream();
  });
  EXPECT_EQ(log.reply_end, ReplyEnd::refused);
  EXPECT_EQ(log.error, "engine died");
}

TEST(LoadRun, ARoleIsNoToken) {
  LoadPlan plan = closed(1);
  plan.request.api = Api::chat;
  const RequestLog log = log_of(
      [](Client& client) {
        client.begin_stream();
        client.event(R"({"choices":[{"delta":{"role":"assistant","content":""}}]})");
        client.wait(0.05);
        client.event(R"({"choices":[{"delta":{"content":"a"}}]})");
        client.event(R"({"choices":[{"delta":{},"finish_reason":"stop"}]})");
        client.usage(5, 2);
        client.end_stream();
      },
      plan);
  EXPECT_GE(log.first - log.sent, 0.05);
  EXPECT_EQ(log.gaps.size(), 0u);
  EXPECT_EQ(log.finish_reason, "stop");
}

TEST(LoadRun, WhatAStreamSaysInOnePieceIsReadToo) {
  LoadPlan plan = closed(1);
  plan.request.stream = false;
  ScriptedServer server([](Client& client, int, const std::string&) {
    const std::string body =
        R"({"choices":[{"text":"abc","finish_reason":"length"}],"usage":{"prompt_tokens":5,"completion_tokens":3}})";
    client.say(fmt::format("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{}", body.size(), body));
  });
  const LoadOutcome outcome = load(server, plan, Texts(1));
  EXPECT_TRUE(outcome.logs[0].succeeded());
  EXPECT_EQ(outcome.logs[0].output_tokens, 3u);
}

TEST(LoadRun, ConnectionsAreKeptAndAClosedLoopKeepsItsNumber) {
  std::atomic<int> in_flight = 0, most = 0;
  ScriptedServer server([&](Client& client, int, const std::string&) {
    const int now = ++in_flight;
    int before = most;
    while (before < now && !most.compare_exchange_weak(before, now)) {
    }
    client.wait(0.005);
    --in_flight;  // before the reply: the next request may come as soon as it has ended
    answer(client);
  });
  const LoadOutcome outcome = load(server, closed(4), Texts(40));
  EXPECT_EQ(outcome.logs.size(), 40u);
  for (const RequestLog& log : outcome.logs) EXPECT_TRUE(log.succeeded()) << log.error;
  EXPECT_EQ(most, 4);
  EXPECT_LE(server.connections(), 5);  // one more to find the server
}

TEST(LoadRun, AKeptConnectionThatIsClosedCostsNoRequest) {
  // As llama.cpp's server does: it says nothing of closing, and closes.
  ScriptedServer server([](Client& client, int, const std::string&) {
    answer(client);
    client.close();
  });
  const LoadOutcome outcome = load(server, closed(3), Texts(60));
  for (const RequestLog& log : outcome.logs) EXPECT_TRUE(log.succeeded()) << log.error;
}

TEST(LoadRun, WhatOnlyOpensOrClosesAReplyIsNoToken) {
  const RequestLog log = log_of([](Client& client) {  // as llama.cpp's server
    client.begin_stream();
    client.token("a");
    client.token("b");
    client.event(
        R"({"choices":[{"text":"","finish_reason":"length"}],"usage":{"prompt_tokens":5,"completion_tokens":2}})");
    client.end_stream();
  });
  EXPECT_EQ(log.gaps.size(), 1u);
  EXPECT_EQ(log.output_tokens, 2u);
  EXPECT_EQ(log.finish_reason, "length");
}

TEST(LoadRun, AStalledServerDoesNotThinTheLoad) {
  ScriptedServer server([](Client& client, int, const std::string&) {
    client.wait(0.3);
    answer(client);
  });
  LoadPlan plan;
  for (int i = 0; i < 20; ++i) plan.arrivals.push_back(0.01 * i);
  const LoadOutcome outcome = load(server, plan, Texts(20));
  ASSERT_EQ(outcome.logs.size(), 20u);
  for (int i = 0; i < 20; ++i) {
    const RequestLog& log = outcome.logs[static_cast<std::size_t>(i)];
    EXPECT_DOUBLE_EQ(log.scheduled, 0.01 * i);
    EXPECT_DOUBLE_EQ(log.due, log.scheduled);
    EXPECT_NEAR(log.sent, log.scheduled, 0.15);  // a thinned load would be 0.3 s late
  }
}

TEST(LoadRun, ACapOnARateShowsTheQueue) {
  ScriptedServer server([](Client& client, int, const std::string&) {
    client.wait(0.05);
    answer(client);
  });
  LoadPlan plan;
  plan.arrivals = {0, 0, 0, 0};
  plan.max_concurrency = 1;
  const LoadOutcome outcome = load(server, plan, Texts(4));
  const RequestLog& last = outcome.logs[3];
  EXPECT_EQ(last.scheduled, 0);
  EXPECT_GE(last.due, 0.15);
  EXPECT_NEAR(last.sent, last.due, 0.1);
}

TEST(LoadRun, ALaterTurnCarriesWhatWasSaid) {
  std::vector<std::string> bodies;
  LoadPlan plan = closed(1);
  plan.request.api = Api::chat;
  ScriptedServer chat([&](Client& client, int, const std::string& body) {
    bodies.push_back(body);
    client.begin_stream();
    client.event(R"({"choices":[{"delta":{"content":"answer"}}]})");
    client.end_stream();
  });
  const LoadOutcome outcome = load(chat, plan, Texts(3, true));
  ASSERT_EQ(bodies.size(), 3u);
  const auto messages = nlohmann::json::parse(bodies[2])["messages"];
  std::vector<std::string> contents;
  for (const auto& message : messages) contents.push_back(message["content"]);
  EXPECT_THAT(contents, ElementsAre("question 0", "answer", "question 1", "answer", "question 2"));
  EXPECT_GE(outcome.logs[1].scheduled, outcome.logs[0].end + 0.049);
}

TEST(LoadRun, WhatAServerNeverAcceptsIsUnconnected) {
  std::vector<Endpoint> targets(1);
  {
    ScriptedServer server([](Client&, int, const std::string&) {});
    targets[0] = *find_endpoint(*parse_url(server.url()), false);
  }
  const auto outcome = run_load(closed(2), Texts(4), targets, nullptr, nullptr);
  ASSERT_EQ(outcome->logs.size(), 4u);
  for (const RequestLog& log : outcome->logs) EXPECT_EQ(log.reply_end, ReplyEnd::unconnected);
}

TEST(LoadRun, AStopEndsWhatIsInFlight) {
  ScriptedServer server([](Client& client, int, const std::string&) {
    client.begin_stream();
    client.token("a");
    client.wait(0.6);
  });
  auto endpoint = find_endpoint(*parse_url(server.url()), false);
  const auto begin = LoadClock::now();
  const auto outcome = run_load(
      closed(3), Texts(9), {*endpoint},
      [&] { return LoadClock::now() - begin > std::chrono::milliseconds(150); }, nullptr);
  EXPECT_TRUE(outcome->interrupted);
  ASSERT_EQ(outcome->logs.size(), 3u);
  EXPECT_EQ(outcome->logs[0].reply_end, ReplyEnd::unfinished);
  EXPECT_GE(outcome->logs[0].first, 0);
}

}  // namespace
}  // namespace assay

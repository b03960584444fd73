// `assay serve --tensor-parallel`: one server whose model several processes share.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "core/json.h"
#include "core/random.h"
#include "e2e/rank_process.h"
#include "e2e/served.h"
#include "model/transformer/named_shapes.h"
#include "support/decoder_reference.h"
#include "support/model_folder.h"
#include "support/test_device.h"

namespace assay {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char *shared_model = "2L4H2K16D32C64F300V", *model_of_three = "1L3H3K16D48C96F300V";

std::vector<std::string> shared_serve(std::vector<std::string> more,
                                      const char* name = shared_model, const char* length = "128") {
  std::vector<std::string> words = tiny_serve({"--device", "cpu"});
  *std::ranges::find(words, "1L2H1K16D32C48F300V") = name;
  *std::ranges::find(words, "128") = length;
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

std::string asking_for(const std::vector<std::int32_t>& prompt, std::size_t tokens) {
  return post("/v1/completions", Json({{"prompt", prompt},
                                       {"return_token_ids", true},
                                       {"ignore_eos", true},
                                       {"max_tokens", tokens}})
                                     .dump());
}

std::vector<std::uint32_t> tokens_of(const std::string& reply) {
  const Json parsed = Json::parse(body_of(reply), nullptr, false);
  if (!parsed.is_object() || !parsed.contains("choices")) return {};
  return parsed["choices"][0]["token_ids"].get<std::vector<std::uint32_t>>();
}

std::vector<std::int32_t> prompt_of(std::int32_t number, std::int32_t length) {
  std::vector<std::int32_t> prompt;
  for (std::int32_t i = 0; i < length; ++i) prompt.push_back((number * 41 + i * 17) % 300);
  return prompt;
}

/// Whether the processes of ranks have ended, within ten seconds.
bool are_gone(const std::vector<pid_t>& ranks) {
  for (int i = 0; i < 1000; ++i) {
    if (std::ranges::none_of(ranks, [](pid_t rank) { return ::kill(rank, 0) == 0; })) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

class ServersOfRanks : public testing::TestWithParam<int> {};

/// Prompts longer than a pass, in batches that change with every step, and a cache too small for
/// all of them: greedy tokens are those of the reference in double precision, as those of one rank
/// are.
TEST_P(ServersOfRanks, GenerateTheTokensOfOne) {
  const std::string count = std::to_string(GetParam());
  Process server(shared_serve({"--tensor-parallel", count, "--num-gpu-blocks-override", "12"}));
  const auto ports = ports_of(server, 1);
  ASSERT_EQ(ports.size(), 1u) << server.error_text();
  std::vector<pid_t> ranks;
  for (int rank = 1; rank < GetParam(); ++rank) ranks.push_back(process_of_rank(server, rank));
  std::vector<std::future<std::string>> replies;
  constexpr std::int32_t requests = 12;
  const auto length = [](std::int32_t i) { return 1 + i * 7 % 50; };
  for (std::int32_t i = 0; i < requests; ++i) {
    replies.push_back(std::async(std::launch::async, [&, i] {
      return ask(ports[0], asking_for(prompt_of(i, length(i)), 24));
    }));
  }
  const auto device = open_test_device("cpu");
  const ReferenceDecoder reference(*device, parse_decoder_shape(shared_model).value(), 1);
  for (std::int32_t i = 0; i < requests; ++i) {
    EXPECT_EQ(tokens_of(replies[static_cast<std::size_t>(i)].get()),
              reference.generate(prompt_of(i, length(i)), 24))
        << i;
  }
  EXPECT_GT(std::strtod(metric(ports[0], "vllm:num_preemptions_total").c_str(), nullptr), 0);
  server.signal(SIGTERM);
  const Outcome end = server.wait();
  EXPECT_EQ(end.status, 0) << end.err;
  EXPECT_THAT(end.err, HasSubstr("12 of 12 blocks"));
  EXPECT_THAT(end.err, HasSubstr("shared by " + count + " ranks over TCP"));
  EXPECT_THAT(end.err, HasSubstr("served 12 requests and 288 tokens"));
  EXPECT_TRUE(are_gone(ranks));
}

INSTANTIATE_TEST_SUITE_P(Counts, ServersOfRanks, testing::Values(2, 4),
                         testing::PrintToStringParamName());

TEST(ServerOfRanks, ReadsItsPartsOfFiles) {
  TransformerShape shape = parse_decoder_shape("2L4H1K16D32C48F131V").value();
  shape.biases = Biases::qkv;
  std::vector<float> weights(TransformerParameters::of(shape).elements);
  Random random(5);
  // So large that each part of a layer changes which token is the most likely.
  for (float& x : weights) x = static_cast<float>(random.normal() * 0.4);
  const TemporaryFolder folder;
  write_model(folder, shape, model_tensors(shape, weights), DataType::f32, 2);
  Process server({"serve", "--weights", folder.path().string(), "--device", "cpu", "--precision",
                  "f32", "--port", "0", "--max-model-len", "64", "--tensor-parallel", "2",
                  "--library", "peer"});
  const auto ports = ports_of(server, 1);
  ASSERT_EQ(ports.size(), 1u) << server.error_text();
  const ReferenceDecoder reference(shape, {weights.begin(), weights.end()});
  EXPECT_EQ(tokens_of(ask(ports[0], asking_for({5, 6, 7, 130}, 20))),
            reference.generate({5, 6, 7, 130}, 20));
}

/// Whichever rank is asked to end, all end, and nobody says that something went wrong.
TEST(ServerOfRanks, EndsWhenAnyRankIsAskedTo) {
  Process server(shared_serve({"--tensor-parallel", "3"}, model_of_three));
  const auto ports = ports_of(server, 1);
  ASSERT_EQ(ports.size(), 1u) << server.error_text();
  const std::vector<pid_t> ranks = {process_of_rank(server, 1), process_of_rank(server, 2)};
  ASSERT_GT(ranks[1], 0);
  ::kill(ranks[1], SIGTERM);
  const Outcome end = server.wait();
  EXPECT_EQ(end.status, 0) << end.err;
  EXPECT_THAT(end.err, HasSubstr("blocks of the cache are free"));
  EXPECT_TRUE(are_gone(ranks));
}

/// While it generates, and while it does not. Who waits for a reply is told.
TEST(ServerOfRanks, NamesARankThatIsKilled) {
  for (const bool busy : {false, true}) {
    SCOPED_TRACE(busy);
    Process server(shared_serve({"--tensor-parallel", "3", "--num-gpu-blocks-override", "7000"},
                                model_of_three, "100000"));
    const auto ports = ports_of(server, 1);
    ASSERT_EQ(ports.size(), 1u) << server.error_text();
    const std::vector<pid_t> ranks = {process_of_rank(server, 1), process_of_rank(server, 2)};
    ASSERT_GT(ranks[1], 0);
    std::future<std::string> reply;
    if (busy) {
      reply = std::async(std::launch::async, [&] {
        return ask(ports[0], asking_for({1, 2, 3}, 90000));
      });
      for (int i = 0; i < 6000 && metric(ports[0], "vllm:num_requests_running") != "1"; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      }
    }
    ::kill(ranks[1], SIGKILL);
    const Outcome end = server.wait();
    EXPECT_NE(end.status, 0);
    // The team or the communicator notices first.
    EXPECT_THAT(end.err, AllOf(HasSubstr("rank 2 on "), HasSubstr("ended by signal 9"),
                               Not(HasSubstr("rank 1"))));
    if (busy) EXPECT_THAT(reply.get(), AllOf(HasSubstr(" 500 "), HasSubstr("rank 2 on ")));
    EXPECT_TRUE(are_gone(ranks));
  }
}

TEST(ServerOfRanks, NamesARankThatStalls) {
  Process server(shared_serve({"--tensor-parallel", "2", "--patience", "12s"}));
  const auto ports = ports_of(server, 1);
  ASSERT_EQ(ports.size(), 1u) << server.error_text();
  const pid_t rank = process_of_rank(server, 1);
  ASSERT_GT(rank, 0);
  ::kill(rank, SIGSTOP);
  const auto begin = std::chrono::steady_clock::now();
  const Outcome end = server.wait();
  EXPECT_LT(seconds_since(begin), 60);  // of which it has some to end by itself
  EXPECT_NE(end.status, 0);
  EXPECT_THAT(end.err, HasSubstr("rank 1 on "));
  EXPECT_TRUE(are_gone({rank}));
}

TEST(ServerOfRanks, SaysWhatRanksCannotShare) {
  const auto said = [](std::vector<std::string> more) {
    const Outcome end = assay_run(shared_serve(std::move(more)));
    EXPECT_EQ(end.status, 2) << end.err;
    return end.err;
  };
  EXPECT_THAT(said({"--tensor-parallel", "3"}), HasSubstr("3 ranks: 4 heads cannot be dealt out"));
  EXPECT_THAT(said({"--tensor-parallel", "2", "--partitions", "2"}), HasSubstr("give one of them"));
  EXPECT_THAT(said({"--tensor-parallel", "0"}), HasSubstr("between 1 and 256"));
  EXPECT_THAT(said({"--tensor-parallel", "2", "--patience", "1ms"}), HasSubstr("--patience"));
}

}  // namespace
}  // namespace assay

// assay tune serve finds the best parameters of a server and proves them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "core/json.h"
#include "e2e/process.h"

namespace assay {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// Serves two requests at a time, although its GPU could serve more. A request takes most of a
/// second, so a client that sends some 50 ms late, as on a busy machine, is not the limit.
std::string narrow_server() {
  return std::string("'") + ASSAY_BINARY +
         "' serve-sim --port {port} --gpu A100-80 --max-num-seqs 2";
}

std::vector<std::string> tuning(std::vector<std::string> words) {
  words.insert(words.begin(), {"tune", "serve", narrow_server()});
  words.insert(words.end(), {"--", "--max-concurrency", "8", "--requests", "8", "--warm-up", "1",
                             "--input", "64", "--output-tokens", "96"});
  return words;
}

/// A busy machine may hold up the client so much that a trial is void.
bool client_was_the_limit(const Outcome& outcome) {
  return (outcome.out + outcome.err).find("client was the limit") != std::string::npos;
}
constexpr const char* too_busy = "this machine is too busy: the client was the limit five times";

/// Tries up to five times.
std::unique_ptr<Process> tune(const std::vector<std::string>& words, Outcome& outcome) {
  std::unique_ptr<Process> process;
  for (int attempt = 0; attempt < 5; ++attempt) {
    process = std::make_unique<Process>(tuning(words));
    outcome = process->wait();
    if (!client_was_the_limit(outcome)) break;
  }
  return process;
}

TEST(TuneServe, ADryRunStartsNoServer) {
  const TemporaryFolder folder;
  const auto out = (folder.path() / "out").string();
  const Outcome outcome =
      assay_run({"tune", "serve", "no-such-server --port {port}", "max-num-seqs=4,8", "--out", out,
                 "--dry-run", "--json", "--", "--request-rate", "2", "--requests", "60"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const Json json = Json::parse(outcome.out);
  EXPECT_EQ(json["settings"], 3);
  EXPECT_EQ(json["parameters"][0]["values"], Json({"unset", "4", "8"}));
  EXPECT_EQ(json["seconds_of_arrivals"], 30);
  EXPECT_FALSE(std::filesystem::exists(out));
}

TEST(TuneServe, TheBestIsProvenAlthoughAServerDoesNotStart) {
  Outcome outcome;
  const auto process =
      tune({"max-num-seqs=4", "no-such-option", "--pairs", "6", "--json"}, outcome);
  if (client_was_the_limit(outcome)) GTEST_SKIP() << too_busy;
  const auto json = Json::parse(outcome.out, nullptr, false);
  ASSERT_TRUE(json.is_object()) << outcome.out << outcome.err;
  ASSERT_EQ(json["settings"], 3);
  ASSERT_EQ(json["finalists"].size(), 2u) << outcome.out;
  EXPECT_EQ(json["finalists"][0]["settings"], Json({{"max-num-seqs", "4"}}));
  EXPECT_GT(json["finalists"][0]["cells"].front()["output_throughput"], 0);
  ASSERT_EQ(json["failed"].size(), 1u) << outcome.out;
  EXPECT_THAT(json["failed"][0]["problem"].get<std::string>(),
              AllOf(HasSubstr("ended with status 2"), HasSubstr("--no-such-option")));
  EXPECT_EQ(outcome.status, json["proof"]["better"] == true
                                ? 0
                                : 6);  // noise of a busy machine may prevent the proof
  EXPECT_GT(json["proof"]["ratio"], 1.3);
  const std::string records = Process::read(process->folder() / "tuning/records.jsonl");
  EXPECT_EQ(std::count(records.begin(), records.end(), '\n'), 3 + 12);
  EXPECT_THAT(outcome.err,
              HasSubstr("a simulated server; its times come from a model, nothing was"));
  EXPECT_THAT(records, AllOf(HasSubstr("\"tuning\":\"proof\""), HasSubstr("\"emulated\":true"),
                             HasSubstr("\"setting\":\"max-num-seqs=4\"")));
}

TEST(TuneServe, SettingsBeyondTheLimitAreOut) {
  Outcome outcome;
  tune({"max-num-seqs=4", "--limit", "mean_e2el:1ms"}, outcome);
  if (client_was_the_limit(outcome)) GTEST_SKIP() << too_busy;
  EXPECT_EQ(outcome.status, 4) << outcome.err;
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("max-num-seqs=4: mean_e2el"), HasSubstr("is above 1.000 ms"),
                    HasSubstr("no setting was measured")));
}

TEST(TuneServe, SecretsAreNotKept) {
  Process process({"tune", "serve", "false --port {port} --api-key sk-of-somebody", "a=1", "--",
                   "--max-concurrency", "1", "--requests", "1"});
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.status, 4) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("nothing was measured with the default values"));
  EXPECT_THAT(Process::read(process.folder() / "tuning/tuning.yaml"),
              AllOf(HasSubstr("--api-key"), testing::Not(HasSubstr("sk-of-somebody"))));
  EXPECT_THAT(Process::read(process.folder() / "tuning/records.jsonl"),
              testing::Not(HasSubstr("sk-of-somebody")));
}

TEST(TuneServe, WhatMakesNoSenseIsSaid) {
  const auto error_of = [](std::vector<std::string> more) {
    std::vector<std::string> words = {"tune", "serve"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = assay_run(words);
    EXPECT_EQ(outcome.status, 2);
    return outcome.err;
  };
  const std::string server = "s --port {port}";
  EXPECT_THAT(error_of({server}), HasSubstr("nothing to try;"));
  EXPECT_THAT(error_of({server, "a=1"}), HasSubstr("how much load?"));
  EXPECT_THAT(error_of({server, "a=1", "--", "--max-concurrency", "1,2"}),
              HasSubstr("2 load points"));
  EXPECT_THAT(error_of({server, "a=1", "--", "--url", "http://a"}),
              HasSubstr("--url is not allowed in tuning"));
  EXPECT_THAT(error_of({server, "a=1", "--limit", "e2el", "--", "--max-concurrency", "1"}),
              HasSubstr("--limit: "));
  EXPECT_THAT(error_of({server, "a=1", "--ranks", "2"}),
              HasSubstr("tune serve has no option --ranks"));
}

}  // namespace
}  // namespace assay

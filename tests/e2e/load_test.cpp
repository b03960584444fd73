// assay load: what it sends, what it refuses, and what it records beside the times.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json.h"
#include "e2e/campaign_study.h"
#include "e2e/energy.h"
#include "e2e/json_lines.h"
#include "e2e/process.h"
#include "e2e/served.h"
#include "e2e/simulated_load.h"

namespace assay {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// What a simulated server takes is no measurement, in whatever form it is kept.
TEST(LoadSimulated, NothingPassesForMeasured) {
  const TemporaryFolder folder;
  const std::string store = folder.path() / "store", json = folder.path() / "vllm.json";
  const Outcome outcome = assay_run({"load", "--spawn", simulated("--ttft 5ms --itl 1ms"),
                                     "--max-concurrency", "2", "--requests", "4", "--input", "8",
                                     "--output-tokens", "2", "--out", store, "--save-vllm", json});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("From a model, not measured: 2 in flight"));
  EXPECT_THAT(outcome.out, HasSubstr("a simulated server; its times come from a model"));
  // On a busy machine the client is too late for any figure.
  EXPECT_THAT(assay_run({"show", store}).out,
              AllOf(HasSubstr(", simulated, "), AnyOf(HasSubstr("  model "), HasSubstr("  void ")),
                    HasSubstr("nothing was")));
  EXPECT_THAT(assay_run({"report", store}).out,
              AllOf(HasSubstr("store (model)"), HasSubstr("From a model, not measured: "),
                    Not(HasSubstr("What was measured"))));
  EXPECT_THAT(assay_run({"compare", store, store}).out, HasSubstr("From a model, not measured: "));
  EXPECT_THAT(assay_run({"import", json}).out, HasSubstr("model "));
  std::string text = Process::read(folder.path() / "store/records.jsonl");
  const std::string mark = ",\"emulated\":true";
  ASSERT_NE(text.find(mark), std::string::npos);
  text.erase(text.find(mark), mark.size());
  folder.write("real/records.jsonl", text);
  const Outcome mixed = assay_run({"compare", store, folder.path() / "real"});
  EXPECT_EQ(mixed.status, 2);
  EXPECT_THAT(mixed.err, HasSubstr("store is from a model (an emulated device or a simulated "));
}

/// Before a server is started for it.
TEST(Load, AFileThatCannotBeWrittenIsSaidAtTheStart) {
  const TemporaryFolder folder;
  const std::string missing = folder.path() / "none/vllm.json";
  const Outcome outcome =
      assay_run({"load", "--spawn", "sh -c 'touch started; sleep 600'", "--max-concurrency", "1",
                 "--requests", "1", "--save-vllm", missing});
  EXPECT_NE(outcome.status, 0);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("--save-vllm"), HasSubstr("cannot be written")));
  EXPECT_THAT(outcome.err, Not(HasSubstr("starting")));
}

TEST(LoadSimulated, IsNotMixedWithOtherServers) {
  Process simulator({"serve-sim", "--port", "0", "--ttft", "1ms", "--itl", "1ms"});
  Process real(tiny_serve());
  const auto simulated = ports_of(simulator, 1), served = ports_of(real, 1);
  ASSERT_EQ(simulated.size() + served.size(), 2u);
  const auto url = [](std::uint16_t port) { return "http://127.0.0.1:" + std::to_string(port); };
  for (const bool first : {true, false}) {
    const std::string one = url(simulated[0]), other = url(served[0]);
    const Outcome outcome =
        assay_run({"load", "--url", first ? one : other, "--url", first ? other : one,
                   "--max-concurrency", "1", "--requests", "1", "--out", "-"});
    EXPECT_EQ(outcome.status, 2);
    EXPECT_THAT(outcome.err,
                HasSubstr(one + " is simulated by assay serve-sim and " + other + " is not"));
  }
}

TEST(LoadTelemetry, CoversTheLoadWithoutItsWarmUp) {
  Process process({"load", "--spawn", simulated("--ttft 50ms --itl 10ms"), "--max-concurrency", "2",
                   "--requests", "2", "--output-tokens", "50", "--warm-up", "4", "--telemetry",
                   "100", "--out", "store"});
  const Outcome outcome = process.wait();
  const Json record = last_record(process);
  ASSERT_TRUE(record.contains("telemetry")) << outcome.err;
  const Json& telemetry = record["telemetry"];
  double joules = 0, duration = 0, per_token = 0;
  for (const auto& [name, gpu] : telemetry["summary"]["gpus"].items()) {
    joules += gpu["energy_joules"].get<double>();
  }
  for (const Json& metric : record["metrics"]) {
    if (metric["name"] == "duration") duration = metric["value"];
    if (metric["name"] == "joules_per_output_token") per_token = metric["value"];
  }
  EXPECT_GT(duration, 0.5);
  EXPECT_NEAR(telemetry["window"], duration, 0.5);  // the warm-up takes another second
  EXPECT_GE(joules, 100 * (duration - unseen_seconds(telemetry, "gpu0.energy")) - 10);
  EXPECT_NEAR(per_token, joules / 100, 1e-6);
  EXPECT_THAT(outcome.out + outcome.err, HasSubstr("J per output token"));
}

/// The hit rate of the second of two points on one server; `prefix`: tokens that all prompts share.
double prefix_cache_hits(const std::string& prefix, std::string& said) {
  Process process({"load", "--spawn", simulated("--gpu A100-80"), "--max-concurrency", "1,2",
                   "--requests", "4", "--input", "512", "--prefix", prefix, "--output-tokens", "2",
                   "--out", "store"});
  const Outcome outcome = process.wait();
  said = outcome.out + outcome.err;
  const Json record = last_record(process);
  for (const Json& metric : record["metrics"]) {
    if (metric["name"] == "prefix_cache_hit_rate") return metric["value"];
  }
  return -1;
}

TEST(LoadSweep, NoPointRepeatsThePromptsOfAnother) {
  std::string said;
  const double hits = prefix_cache_hits("0", said);
  EXPECT_GE(hits, 0) << said;
  EXPECT_LT(hits, 0.01) << said;
  EXPECT_THAT(said, Not(HasSubstr("came from the server's prefix cache")));
}

TEST(LoadSweep, HitsOfThePrefixCacheAreSaid) {
  std::string said;
  EXPECT_GT(prefix_cache_hits("512", said), 0.2) << said;
  EXPECT_THAT(said, HasSubstr("came from the server's prefix cache"));
}

TEST(LoadRequests, OptionsOfOtherDataSetsAreRefused) {
  const std::vector<std::string> load = {"load", "--url", "http://127.0.0.1:1", "--out", "-"};
  const auto refused = [&](std::vector<std::string> more) {
    more.insert(more.begin(), load.begin(), load.end());
    const Outcome outcome = assay_run(more);
    EXPECT_EQ(outcome.status, 2);
    return outcome.err;
  };
  EXPECT_THAT(refused({"--dataset", "multi-turn", "--prefix", "256"}),
              HasSubstr("--prefix needs --dataset random or prefix-repetition"));
  EXPECT_THAT(refused({"--dataset", "prefix-repetition", "--spread", "0.5"}),
              HasSubstr("--spread needs --dataset random"));
}

TEST(LoadRequests, AWarmUpMayHaveFewerRequestsThanThereArePrefixes) {
  const Outcome outcome =
      assay_run({"load", "--spawn", simulated("--ttft 1ms --itl 1ms"), "--dataset",
                 "prefix-repetition", "--prefixes", "10", "--warm-up", "2", "--requests", "10",
                 "--max-concurrency", "2", "--input", "8", "--output-tokens", "2", "--out", "-"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
}

/// Records of a load that keeps no store.
std::vector<Json> load_records(const Outcome& outcome) {
  std::vector<Json> records;
  for (const Json& line : json_lines(outcome.out)) {
    if (line.contains("benchmark")) records.push_back(line);
  }
  return records;
}

double metric_in(const Json& record, const char* name) {
  for (const Json& metric : record["metrics"]) {
    if (metric["name"] == name) return metric["value"];
  }
  return -1;
}

TEST(LoadRepeat, SeveralPassesAreOneRecordAndShareNoPrompts) {
  const Outcome outcome = assay_run({"load", "--spawn", simulated("--gpu A100-80"),
                                     "--max-concurrency", "2", "--requests", "4", "--input", "512",
                                     "--output-tokens", "2", "--repeat", "3", "--out", "-"});
  const auto records = load_records(outcome);
  ASSERT_EQ(records.size(), 1u) << outcome.err;
  const Json& notes = records[0]["notes"];
  EXPECT_EQ(notes["passes"], "3");
  EXPECT_THAT(notes["pass 3"].get<std::string>(), HasSubstr("tokens/s"));
  EXPECT_THAT(notes["server_logs"].get<std::string>(), HasSubstr("-*.log"));
  EXPECT_THAT(outcome.err, HasSubstr("over 3 passes: output_throughput"));
  const double hits = metric_in(records[0], "prefix_cache_hit_rate");
  EXPECT_GE(hits, 0);
  EXPECT_LT(hits, 0.01);
}

// A server that several loads use, as those of a campaign use one that keeps running.
TEST(LoadPrompts, NoLoopNorPairRepeatsThoseOfAnother) {
  Process server({"serve-sim", "--port", "0", "--gpu", "A100-80"});
  std::string url;
  for (int i = 0; i < 6000 && url.empty(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    const std::string text = Process::read(server.folder() / "out");
    const std::size_t at = text.find("127.0.0.1:");
    if (at != std::string::npos && text.find('\n', at) != std::string::npos) {
      url = text.substr(at, text.find_first_not_of("0123456789", at + 10) - at);
    }
  }
  ASSERT_NE(url, "");
  const std::vector<std::string> common = {
      "load", "--url",  url, "--requests",  "4",   "--input", "512", "--output-tokens",
      "2",    "--seed", "5", "--telemetry", "off", "--out",   "-"};
  const auto hits = [&](std::vector<std::string> load, const std::string& pair,
                        const std::string& set = "1") {
    load.insert(load.begin(), common.begin(), common.end());
    const Outcome outcome = assay_run(load, {{"ASSAY_PAIR", pair}, {"ASSAY_PROMPTS", set}});
    const auto records = load_records(outcome);
    EXPECT_EQ(records.size(), 1u) << outcome.err;
    return records.empty() ? -1 : metric_in(records[0], "prefix_cache_hit_rate");
  };
  const auto few = testing::AllOf(testing::Ge(0), testing::Lt(0.01));
  EXPECT_THAT(hits({"--max-concurrency", "2"}, "1"), few);
  EXPECT_THAT(hits({"--request-rate", "50"}, "1"), few);
  EXPECT_THAT(hits({"--max-concurrency", "2"}, "2"), few);
  EXPECT_THAT(hits({"--request-rate", "50"}, "2"), few);
  EXPECT_GT(hits({"--request-rate", "50"}, "2"), 0.5);  // the same load again
  EXPECT_THAT(hits({"--request-rate", "50"}, "2", "2"), few);
}

/// The control loads the baseline's servers a second time within the pair.
TEST(LoadPrompts, ACampaignsControlIsNotAnsweredFromTheCache) {
  Process servers({"serve-sim", "--port", "0", "--gpu", "A100-80", "--servers", "2"});
  const auto ports = ports_of(servers, 2);
  ASSERT_EQ(ports.size(), 2u);
  const auto url = [&](int i) { return "http://127.0.0.1:" + std::to_string(ports[i]); };
  const Study study(
      "name: n\nload: {max-concurrency: 2, requests: 4, input: 512, output-tokens: 2, telemetry: "
      "off}\nenvironments:\n  - {name: a, kind: host, url: '" +
      url(0) + "'}\n  - {name: b, kind: host, url: '" + url(1) + "'}\n");
  const Outcome outcome = study.run({"--pairs", "2"});
  EXPECT_EQ(study.complete().size(), 6u) << outcome.err;
  for (const char* environment : {"a", "b", "a-control"}) {
    const auto records = json_lines(Process::read(study.out() / environment / "records.jsonl"));
    ASSERT_EQ(records.size(), 2u) << environment;
    for (const Json& record : records) {
      EXPECT_LT(metric_in(record, "prefix_cache_hit_rate"), 0.01) << environment;
      EXPECT_GE(metric_in(record, "prefix_cache_hit_rate"), 0) << environment;
    }
  }
}

TEST(LoadFindRate, EveryProbeAndItsVerdictAreInTheJson) {
  const Outcome outcome =
      assay_run({"load", "--spawn", simulated("--ttft 5ms --itl 1ms"), "--find-rate",
                 "p99_e2el:100s", "--most-rate", "20", "--requests", "20", "--output-tokens", "4",
                 "--input", "8", "--duration", "1s", "--out", "-"});
  const auto lines = json_lines(outcome.out);
  ASSERT_FALSE(lines.empty()) << outcome.err;
  const Json& found = lines.back()["find_rate"];
  EXPECT_EQ(found["end"], "capped") << outcome.err;
  ASSERT_EQ(found["runs"].size(), found["probes"].get<std::size_t>());
  EXPECT_EQ(found["runs"][1]["verdict"], "bounds the rate");
  EXPECT_EQ(found["runs"].back()["verdict"], "passes");
  EXPECT_THAT(outcome.err, HasSubstr(found["summary"].get<std::string>()));
}

/// All tokens of a reply come at once, as through a proxy that collects them.
TEST(LoadFindRate, TimesThatAreNoneOfTheServersMeetNoTarget) {
  const Outcome found = assay_run({"load", "--spawn", simulated("--ttft 5ms --itl 0.001ms"),
                                   "--find-rate", "mean_tpot:50ms", "--requests", "20", "--input",
                                   "8", "--output-tokens", "8", "--out", "-"});
  EXPECT_EQ(found.status, 1) << found.err;
  EXPECT_THAT(found.out + found.err, HasSubstr("most tokens came together in"));
}

/// Prompts that the server has no room for: no rate fails by that, and no time is 0.
TEST(LoadFindRate, WhereNothingIsAnsweredThereIsNone) {
  const auto load = [](std::vector<std::string> more) {
    std::vector<std::string> words = {"load",       "--spawn", simulated("--max-model-len 64"),
                                      "--input",    "100",     "--output-tokens",
                                      "4",          "--out",   "-",
                                      "--requests", "3"};
    words.insert(words.end(), more.begin(), more.end());
    return assay_run(words);
  };
  const Outcome none = load({"--find-rate", "p99_ttft:1s"});
  EXPECT_NE(none.status, 0);
  EXPECT_THAT(none.err, AllOf(HasSubstr("no request was answered, so there is no rate to find"),
                              Not(HasSubstr("fails by"))));
  const Outcome sweep = load({"--max-concurrency", "1,2"});
  EXPECT_THAT(sweep.err + sweep.out, testing::ContainsRegex("2 in flight +0 +0 +- +- +- +-"));
}

/// Words are counted before the load, by prompts of up to 250 of them.
TEST(Load, AServerThatDoesNotCountWordsSaysWhy) {
  const Outcome outcome = assay_run({"load", "--spawn", simulated("--max-model-len 32"),
                                     "--max-concurrency", "1", "--api", "chat", "--input", "8",
                                     "--output-tokens", "4", "--requests", "3", "--out", "-"});
  EXPECT_NE(outcome.status, 0);
  EXPECT_THAT(outcome.err, HasSubstr("does not say how many tokens a prompt has (HTTP 400: This "
                                     "model's maximum context length is 32 tokens."));
}

TEST(LoadCalibrate, TimesTheClientAgainstWhatTheSimulatorSent) {
  // A moment in which the machine is busy is over in one of the attempts; a wrong clock is not.
  constexpr int attempts = 4;
  Json step;
  for (int i = 0; i < attempts && !(step.is_object() && step["itl_error_p99"] < 0.1); ++i) {
    const Outcome outcome =
        assay_run({"load", "--calibrate", "--max-concurrency", "3", "--duration", "1s", "--json"});
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    const Json json = Json::parse(outcome.out, nullptr, false);
    ASSERT_TRUE(json.is_object()) << outcome.out;
    ASSERT_EQ(json["steps"].size(), 1u);
    step = json["steps"][0];
  }
  EXPECT_EQ(step["streams"], 3);
  EXPECT_GT(step["itl_error_p99"], 0);
  // A busy machine delays both programs; the kernel's timestamps exclude the client's delay.
  EXPECT_NEAR(step["load"].get<double>(), 1, 0.5);
  EXPECT_LT(step["itl_error_p99"], 0.1);
  EXPECT_LT(step["ttft_error_p99"], 0.2);  // the whole TTFT
  EXPECT_GT(step["planned_itl_error_p99"], 0);
}

TEST(LoadRequests, SecretsAreNotShownAndHeadersNotInjected) {
  const std::vector<std::string> load = {"load", "--request-rate", "1", "--out", "-"};
  const auto error_of = [&](std::vector<std::string> more,
                            const std::map<std::string, std::string>& variables) {
    more.insert(more.begin(), load.begin(), load.end());
    const Outcome outcome = assay_run(more, variables);
    EXPECT_EQ(outcome.status, 2) << outcome.err;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    EXPECT_THAT(outcome.err, Not(HasSubstr("pa55")));
    return outcome.err;
  };
  EXPECT_THAT(error_of({"--url", "http://u:pa55@a,http://b"}, {}), HasSubstr("(set)@"));
  EXPECT_THAT(error_of({"--url", "http://u:pa55,pa55@a"}, {}), HasSubstr("(set)@a"));
  const std::vector<std::string> server = {"--url", "http://127.0.0.1:1"};
  EXPECT_THAT(error_of(server, {{"OPENAI_API_KEY", "pa55\r\nX-Admin: 1"}}),
              HasSubstr("OPENAI_API_KEY has a line break"));
  for (const char* header : {"X: pa55\nY: 1", "X: pa55\r\nY: 1", "pa55", ": pa55"}) {
    EXPECT_THAT(error_of({"--url", "http://127.0.0.1:1", "--header", header}, {}),
                AllOf(HasSubstr("--header "), HasSubstr("not allowed")));
  }
}

/// They would wait for what never comes.
TEST(LoadRequests, WhatWouldNeverBeSentIsRefused) {
  const auto said = [](const char* option, const char* value) {
    const Outcome outcome = assay_run({"load", "--url", "http://127.0.0.1:1", "--max-concurrency",
                                       "1", option, value, "--out", "-"});
    EXPECT_EQ(outcome.status, 2) << outcome.err;
    return outcome.err;
  };
  EXPECT_THAT(said("--header", "Content-Length: 5"), HasSubstr("--header content-length is not"));
  EXPECT_THAT(said("--header", "transfer-ENCODING: x"), HasSubstr("transfer-encoding is not"));
  EXPECT_THAT(said("--request-rate", "1e-300"), HasSubstr("\"1e-300\" is not allowed"));
}

TEST(LoadRequests, AVocabularyThatIsTooSmallIsTheServers) {
  std::vector<std::string> words = tiny_serve({"--device", "cpu"});
  std::replace(words.begin(), words.end(), std::string("1L2H1K16D32C48F300V"),
               std::string("1L2H1K16D32C48F50V"));
  Process server(words);
  const auto ports = ports_of(server, 1);
  ASSERT_EQ(ports.size(), 1u) << server.error_text();
  const Outcome outcome =
      assay_run({"load", "--url", "http://127.0.0.1:" + std::to_string(ports[0]),
                 "--max-concurrency", "1", "--requests", "1", "--out", "-"});
  EXPECT_NE(outcome.status, 0);
  EXPECT_THAT(outcome.err, HasSubstr("says in /v1/models that its vocabulary has 50 tokens"));
}

TEST(LoadRequests, HaveATimeInAll) {
  const Outcome outcome =
      assay_run({"load", "--spawn", simulated("--ttft 5ms --itl 1ms --fault hang"),
                 "--max-concurrency", "2", "--requests", "2", "--input", "8", "--output-tokens",
                 "6", "--request-timeout", "1s", "--timeout", "5s", "--out", "-"});
  EXPECT_EQ(outcome.status, 3);
  EXPECT_THAT(outcome.err, HasSubstr("2 of 2 requests ended unfinished: not complete after 1 s"));
}

}  // namespace
}  // namespace assay

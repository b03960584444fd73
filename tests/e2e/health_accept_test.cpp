// assay health accept and limits as programs, on the fake backend and the virtual machine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "core/hash.h"
#include "core/json.h"
#include "core/read_file.h"
#include "core/write_file.h"
#include "e2e/process.h"
#include "e2e/virtual_mi300x.h"
#include "support/accepted_runs.h"

namespace assay {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

/// Two lines of one cell: one that the device passes by far, and one that it fails.
std::string two_limits(const TemporaryFolder& folder) {
  const std::string path = folder.path() / "ours.yaml";
  EXPECT_TRUE(write_file(path,
                         "{name: ours, description: test, source: us, date: 2026-11-29, limits: [\n"
                         "{cell: memory op=copy dtype=f32 size=4KiB cache=hot, metric: bandwidth, "
                         "at_least: 1, unit: bytes/s, quick: true},\n"
                         "{cell: memory op=copy dtype=f32 size=4KiB cache=hot, metric: bandwidth, "
                         "at_least: 1000000, unit: TB/s, full: true}]}")
                  .ok());
  return path;
}

TEST(HealthAccept, JudgesWhatItMeasured) {
  const TemporaryFolder folder;
  const std::string limits = two_limits(folder), store = folder.path() / "store",
                    page = folder.path() / "page.html";
  const Outcome outcome =
      assay_run({"health", "accept", "--full", "--limits", limits, "--device", "fake:0", "--budget",
                 "30s", "--sdc", "0s", "--out", store, "--certificate", page, "--json"},
                {{"TMPDIR", folder.path()}});
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("1 x scripted device by ours (test): at most 0:"));
  const Json json = Json::parse(outcome.out);
  EXPECT_EQ(json["verdict"], "FAIL");
  EXPECT_EQ(json["lines"][0]["verdict"], "PASS") << outcome.out;
  EXPECT_EQ(json["lines"][1]["verdict"], "FAIL");
  ASSERT_EQ(json["runs"].size(), 1u);
  const auto stored = read_records(store);
  ASSERT_TRUE(stored.ok());
  EXPECT_EQ(stored->records.at(0).run, json["runs"][0].get<std::string>());
  EXPECT_THAT(*read_file(page), HasSubstr(json["records_sha256"].get<std::string>()));
  EXPECT_EQ(json["records_sha256"].get<std::string>(),
            sha256_hex(*read_file(store + "/records.jsonl")));
}

TEST(HealthAccept, HoldsItsDeviceWhileItMeasures) {
  const TemporaryFolder folder;
  const Process::Environment environment = {{"TMPDIR", folder.path()}, {"ASSAY_FAKE", "sleep=1"}};
  const std::vector<std::string> words = {"health",   "accept", "--limits", two_limits(folder),
                                          "--device", "fake:0", "--budget", "1h",
                                          "--sdc",    "0s",     "--out",    "-"};
  Process first(words, environment);
  const std::string lock = folder.path() / "assay-health-fake-0.lock";
  while (!std::filesystem::exists(lock)) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  // The lock is made before it is held.
  Outcome second;
  for (int i = 0; i < 100 && second.status != 4; ++i) {
    second = assay_run({"health", "sdc", "--device", "fake:0", "--duration", "1s", "--only", "copy",
                        "--output", folder.path() / "second.json"},
                       environment);
  }
  EXPECT_EQ(second.status, 4) << second.out;
  EXPECT_THAT(second.err, ContainsRegex("fake:0 is under test by process [0-9]+"));
  first.signal(SIGINT);
  EXPECT_EQ(first.wait().status, 130);
}

/// Machines may share the current folder and the store, and no test replaces the result of another.
TEST(HealthAccept, EachTestForCorruptionKeepsItsResultInTheStore) {
  const TemporaryFolder folder;
  const std::string store = folder.path() / "store";
  std::set<std::string> files;
  for (int i = 0; i < 2; ++i) {
    const Outcome outcome =
        assay_run({"health", "accept", "--limits", two_limits(folder), "--device", "fake:0",
                   "--budget", "30s", "--sdc", "1s", "--out", store, "--json"},
                  {{"TMPDIR", folder.path()}});
    const Json json = Json::parse(outcome.out, nullptr, false);
    ASSERT_TRUE(json.is_object() && json["sdc"].contains("file")) << outcome.out << outcome.err;
    const std::string file = json["sdc"]["file"];
    EXPECT_THAT(file, ContainsRegex(store + "/sdc-.*[.]json$"));
    EXPECT_THAT(outcome.err, ContainsRegex("silent data corruption: 0:01\n"
                                           "  \\[[0-9]+:[0-9]+/0:01\\]  0:0[01] left  "));
    EXPECT_EQ(Json::parse(*read_file(file))["verdict"], json["sdc"]["verdict"]);
    files.insert(file);
  }
  EXPECT_EQ(files.size(), 2u);
}

TEST(HealthAccept, AdviceKeepsTheLimitsAndTheDevice) {
  const TemporaryFolder folder;
  const std::string limits = two_limits(folder);
  const Outcome judged =
      assay_run({"health", "--limits", limits, "--device", "fake:0", "--sdc", "0s"},
                {{"TMPDIR", folder.path()}});
  EXPECT_THAT(judged.out, HasSubstr(" health accept --limits " + limits + " --device fake:0  "))
      << judged.err;
  EXPECT_THAT(judged.out, HasSubstr(" health sdc --duration 10min --device fake:0  "));
  // A CPU has no limits.
  const Outcome unknown = assay_run(
      {"health"},
      {{"TMPDIR", folder.path()}, {"CUDA_VISIBLE_DEVICES", "-1"}, {"HIP_VISIBLE_DEVICES", "-1"}});
  EXPECT_THAT(unknown.out, HasSubstr("not measured: no limits for")) << unknown.err;
  EXPECT_THAT(unknown.out, HasSubstr(" health sdc --duration 10min  "));
  EXPECT_THAT(unknown.out, Not(HasSubstr(" health accept")));
}

TEST(HealthAccept, TheLimitsAreNotReplacedByTheCertificate) {
  const TemporaryFolder folder;
  const std::string limits = two_limits(folder), before = *read_file(limits);
  const Outcome outcome =
      assay_run({"health", "accept", "--limits", limits, "--device", "fake:0", "--budget", "3s",
                 "--sdc", "0s", "--out", "-", "--certificate", limits});
  EXPECT_EQ(outcome.status, 2) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("is read and would be replaced"));
  EXPECT_EQ(*read_file(limits), before);
}

TEST(HealthAccept, ALineThatIsUnknownIsNotListedAsUntestedToo) {
  const TemporaryFolder folder;
  const std::string limits = folder.path() / "ours.yaml";
  ASSERT_TRUE(write_file(limits,
                         "{name: ours, description: test, source: us, date: 2026-11-29, limits: [\n"
                         "{cell: train model=124M batch=16 sequence=512, metric: token_rate, "
                         "at_least: 1, unit: tokens/s, quick: true}]}")
                  .ok());
  const Outcome outcome = assay_run({"health", "accept", "--limits", limits, "--device", "fake:0",
                                     "--budget", "30s", "--sdc", "0s", "--out", "-"},
                                    {{"TMPDIR", folder.path()}});
  EXPECT_THAT(outcome.out, HasSubstr("; with ranks=1 the line is for one device")) << outcome.err;
  EXPECT_THAT(outcome.out, Not(HasSubstr("not tested: train")));
}

TEST(HealthAccept, NeedsLimitsAndADevice) {
  const Outcome none = assay_run({"health", "accept", "--device", "cpu"});
  EXPECT_EQ(none.status, 2);
  EXPECT_THAT(none.err, HasSubstr("there are limits for"));
  const Outcome absent = assay_run({"health", "accept", "--device", "fake:7"});
  EXPECT_EQ(absent.status, 4);
  EXPECT_THAT(absent.err, HasSubstr("no device to accept by --device fake:7"));
}

TEST(HealthLimits, OfHealthyNodesAreReadByAcceptance) {
  const TemporaryFolder folder;
  for (int i = 0; i < 5; ++i) {
    auto store = Store::open(folder.path() / "fleet" / ("node" + std::to_string(i)));
    ASSERT_TRUE(store.ok());
    Record record = sound_record(0, 1000 + i);
    record.cell =
        Cell("memory", {{"op", "copy"}, {"dtype", "f64"}, {"size", "1GiB"}, {"cache", "hot"}});
    ASSERT_TRUE(store->append(record).ok());
  }
  const std::string file = folder.path() / "ours.yaml";
  const Outcome made =
      assay_run({"health", "limits", folder.path() / "fleet", "--rate", "5%", "--out", file});
  EXPECT_EQ(made.status, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("54 more nodes would do without"));
  const Outcome again = assay_run({"health", "limits", folder.path() / "fleet", "--json"});
  const Json json = Json::parse(again.out);
  EXPECT_EQ(json["nodes"], 5);
  ASSERT_EQ(json["limits"].size(), 1u);
  EXPECT_LT(json["limits"][0]["at_least"].get<double>(), json["limits"][0]["worst"].get<double>());
  for (const char* option : {"--format", "--name"}) {
    const Outcome ignored =
        assay_run({"health", "limits", folder.path() / "fleet", "--json", option, "plain"});
    EXPECT_EQ(ignored.status, 2) << ignored.out;
    EXPECT_THAT(ignored.err, HasSubstr(std::string(option) + " is about the file"));
    EXPECT_THAT(ignored.err, HasSubstr("--output FILE"));
  }
  const std::string plain = folder.path() / "plain.yaml";
  const Outcome written = assay_run({"health", "limits", folder.path() / "fleet", "--json",
                                     "--format", "plain", "--output", plain});
  EXPECT_EQ(written.status, 0) << written.err;
  EXPECT_EQ(Json::parse(written.out)["nodes"], 5);
  EXPECT_TRUE(std::filesystem::exists(plain));
  const Outcome read = assay_run({"health", "limits", "--read", file});
  EXPECT_EQ(read.status, 0) << read.err;
  EXPECT_THAT(read.out, HasSubstr("1 gate in 1 file: 0 can never fail"));
}

TEST(HealthLimits, ThatCanNeverFailAreCounted) {
  const TemporaryFolder folder;
  const Outcome none = assay_run({"health", "limits", "--read", folder.path()});
  EXPECT_EQ(none.status, 2);
  EXPECT_THAT(none.err, HasSubstr(": no gates; known are"));
  const std::string file = folder.path() / "a_threshold.json";
  ASSERT_TRUE(write_file(file, R"({"c": {"x": {"kind": "min", "value": 0}}})").ok());
  const Outcome read = assay_run({"health", "limits", "--read", folder.path()});
  EXPECT_EQ(read.status, 1);
  EXPECT_THAT(read.out, HasSubstr("1 gate in 1 file: 1 can never fail (100%)"));
}

class HealthOnVirtualMi300x : public OnVirtualMi300x {};

TEST_F(HealthOnVirtualMi300x, LinesThatNeedRealTimeAreUnknown) {
  const Outcome outcome = on({"health", "accept", "--sdc", "0s", "--json"});
  const Json json = Json::parse(outcome.out, nullptr, false);
  ASSERT_TRUE(json.is_object()) << outcome.err;
  EXPECT_EQ(json["limits"]["name"], "mi300x");
  for (const Json& line : json["lines"]) {
    if (line.contains("cell")) {
      EXPECT_EQ(line["verdict"], "UNKNOWN") << line;
      EXPECT_EQ(line["reason"], "needs a real device: times of an emulated one come from a model");
    } else if (line["line"] == "gpus" || line["line"] == "link-width") {
      EXPECT_EQ(line["verdict"], "PASS") << line;
    }
  }
}

}  // namespace
}  // namespace assay

// assay tune conv on the virtual MI300X, whose MIOpen knows a fast solver only after a search, and
// a still faster one with other parameters.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "core/read_file.h"
#include "e2e/json_lines.h"
#include "e2e/virtual_mi300x.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string find_file = "gfx942130.HIP.3_4_0_f3a7c1d.ufdb.txt";

class TuneConv : public OnVirtualMi300x {
 protected:
  Process::Environment environment(Process::Environment more) const {
    more.try_emplace("MI300X_DEVICES", "1");
    more.try_emplace("MIOPEN_USER_DB_PATH", folder_.path() / "in-use");
    return OnVirtualMi300x::environment(std::move(more));
  }
  Outcome run(const std::vector<std::string>& words, Process::Environment variables = {}) const {
    return on(words, environment(std::move(variables)));
  }
  std::vector<std::string> words(const std::vector<std::string>& more) const {
    std::vector<std::string> all = {
        "tune",     "conv", "--device", "hip",     "n=1",
        "c=8",      "h=6",  "k=8",      "--pairs", std::to_string(pairs),
        "--budget", budget_};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  Outcome tune(const std::vector<std::string>& more, Process::Environment variables = {}) const {
    return run(words(more), std::move(variables));
  }
  std::string out(const std::string& name = "") const {
    return (folder_.path() / "out" / name).string();
  }

  /// Twice as many as a proof needs: it takes them two by two where they happen to be correlated,
  /// as 8 chance numbers are in one proof of fifty; and on a busy machine a run may not have the
  /// time for all.
  static constexpr int pairs = 12;
  const TemporaryFolder folder_;
  std::string budget_ = "600ms";  // so that runs of several have the time for all
};

TEST_F(TuneConv, MiopensSearchIsProvenAndItsDatabasesAreTold) {
  budget_ = "200ms";
  const Outcome outcome = tune({"direction=forward", "--out", out()});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("solver=91 GEMM -> solver=114 implicit GEMM"),
                    HasSubstr("1 of 1 convolutions faster"),
                    HasSubstr("MIOpen's databases lie in " + out("miopen")),
                    HasSubstr(find_file + ": 1 records new (+), 0 changed (~)"),
                    HasSubstr("    + 8-6-6-3x3-8-6-6-1-1x1-1x1-1x1-0-NHWC-NHWC-NHWC-FP32-F: "
                              "ConvHipImplicitGemmGroupFwdXdlops 3.75 ms"),
                    HasSubstr("export MIOPEN_USER_DB_PATH=" + out("miopen")),
                    HasSubstr("nothing was measured")));
  EXPECT_FALSE(fs::exists(folder_.path() / "in-use")) << "what is in use was changed";
  EXPECT_TRUE(fs::exists(out("runs/before/records.jsonl")));

  // Again: the journal knows it all.
  const Outcome again = tune({"direction=forward", "--out", out(), "--json"});
  ASSERT_EQ(again.status, 0) << again.err;
  EXPECT_THAT(again.err, HasSubstr("continuing after " + std::to_string(1 + 2 * pairs) + " steps"));
  const Json json = json_lines(again.out).front();
  EXPECT_EQ(json["library"], "MIOpen 3.4.0");
  EXPECT_EQ(json["convolutions"][0]["faster"], true);
  EXPECT_EQ(json["convolutions"][0]["before"]["algorithm"], "solver=91 GEMM");
  EXPECT_EQ(json["databases"]["changes"].size(), 2u);  // of both databases

  // Any other program finds it there.
  const std::vector<std::string> user = {
      "run",   "conv", "--device",          "hip",        "n=1",      "c=8",
      "h=6",   "k=8",  "direction=forward", "find=first", "--budget", "1s",
      "--out", "-"};
  EXPECT_THAT(run(user, {{"MIOPEN_USER_DB_PATH", out("miopen")}}).out,
              HasSubstr("solver=114 implicit GEMM"));
  EXPECT_THAT(run(user).out, HasSubstr("solver=91 GEMM"));
  // Another tuning may not use the same folder.
  const Outcome other = tune({"direction=forward", "--out", out(), "--before", out("miopen")});
  EXPECT_EQ(other.status, 2);
  EXPECT_THAT(other.err, HasSubstr("settings.before is \"\", here it is "));
  // Nor for other convolutions, whose proof would be missing.
  const Outcome more = tune({"direction=forward,data", "--out", out()});
  EXPECT_EQ(more.status, 2);
  EXPECT_THAT(more.err, HasSubstr("convolutions.data f32 nhwc n1 c8 k8"));
}

TEST_F(TuneConv, AGivenDatabaseIsImprovedAndComparedWithWhatItWas) {
  // An earlier search left it like this: another solver, and another convolution.
  const std::string key = "8-6-6-3x3-8-6-6-1-1x1-1x1-1x1-0-NHWC-NHWC-NHWC-FP32-F=";
  const auto file = folder_.write(
      "db/" + find_file, key + "ConvBinWinogradRxSf2x3g1:0.1,0,miopenConvolutionFwdAlgoWinograd\n" +
                             "other=GemmFwdRest:0.1,0,miopenConvolutionFwdAlgoGEMM\n");
  const std::string given = file.parent_path();
  const Outcome outcome =
      tune({"direction=forward,weights", "--db", given, "--out", out(), "--json"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const Json json = json_lines(outcome.out).front();
  ASSERT_EQ(json["convolutions"].size(), 2u);
  const bool swapped = json["convolutions"][0]["direction"] == "weights";
  EXPECT_EQ(json["convolutions"][swapped ? 1 : 0]["before"]["algorithm"], "solver=37 Winograd");
  EXPECT_EQ(json["convolutions"][swapped ? 0 : 1]["before"]["algorithm"], "solver=91 GEMM");
  EXPECT_EQ(json["databases"]["folder"], given);
  std::size_t added = 0;
  for (const Json& change : json["databases"]["changes"]) added += change["added"] == true ? 1 : 0;
  EXPECT_EQ(json["databases"]["changes"].size(), 4u);
  EXPECT_EQ(added, 3u);
  EXPECT_THAT(read_file(file).value_or(""), HasSubstr("other=GemmFwdRest:0.1"));
  EXPECT_THAT(read_file(out("miopen-before/" + find_file)).value_or(""),
              HasSubstr(key + "ConvBinWinograd"));
}

/// A library that takes its slowest solver for the fastest.
TEST_F(TuneConv, WhatIsSlowerDoesNotStay) {
  budget_ = "200ms";
  const std::string before =
      "8-6-6-3x3-8-6-6-1-1x1-1x1-1x1-0-NHWC-NHWC-NHWC-FP32-F="
      "ConvBinWinogradRxSf2x3g1:0.1,0,miopenConvolutionFwdAlgoWinograd\n";
  const auto file = folder_.write("db/" + find_file, before);
  const Outcome outcome =
      tune({"direction=forward", "--out", out(), "--db", file.parent_path().string()},
           {{"MOCK_MIOPEN_MISJUDGES", "1"}});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("slower, proven: not kept"),
                                 HasSubstr("0 of 1 convolutions faster"), HasSubstr("(+0.0%)"),
                                 HasSubstr("nothing changed in them"), Not(HasSubstr("export "))));
  EXPECT_THAT(outcome.err, HasSubstr("undone in the databases: 2 records"));
  EXPECT_EQ(read_file(file), before);
}

/// Whoever asks for a part alone has no parent that keeps and takes back.
TEST_F(TuneConv, APartIsAWholeTuning) {
  budget_ = "200ms";
  const std::string before =
      "8-6-6-3x3-8-6-6-1-1x1-1x1-1x1-0-NHWC-NHWC-NHWC-FP32-F="
      "ConvBinWinogradRxSf2x3g1:0.1,0,miopenConvolutionFwdAlgoWinograd\n";
  const auto file = folder_.write("db/" + find_file, before);
  const Outcome outcome = tune({"direction=forward,data", "--part", "0/2", "--out", out(), "--db",
                                file.parent_path().string(), "--json"},
                               {{"MOCK_MIOPEN_MISJUDGES", "1"}});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const Json json = json_lines(outcome.out).front();
  ASSERT_EQ(json["convolutions"].size(), 1u);
  EXPECT_EQ(json["convolutions"][0]["before"]["algorithm"], "solver=37 Winograd");
  EXPECT_EQ(json["convolutions"][0]["slower"], true);
  EXPECT_TRUE(json["databases"]["changes"].empty());
  EXPECT_EQ(read_file(file), before);
  EXPECT_EQ(read_file(out("miopen-before/" + find_file)), before);
}

TEST_F(TuneConv, GoesOnWhereItWasKilled) {
  const std::vector<std::string> both = {"direction=forward,data", "--out", out()};
  const auto journal = [&] { return read_file(out("journal.jsonl")).value_or(""); };
  {
    Process killed(words(both), environment({}), "", script);
    for (int i = 0; i < 2400; ++i) {  // until the first run of the proof is done
      const std::string text = journal();
      if (std::count(text.begin(), text.end(), '\n') >= 4) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    killed.signal(SIGKILL);
    EXPECT_EQ(killed.wait().status, 128 + SIGKILL);
  }
  const std::string before = journal();
  const Outcome outcome = tune(both);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("2 of 2 convolutions faster"));
  const std::string after = journal();
  EXPECT_EQ(std::count(after.begin(), after.end(), '\n'), 3 + 2 * pairs);
  EXPECT_TRUE(after.starts_with(before.substr(0, before.rfind('\n') + 1)));
}

TEST_F(TuneConv, AProcessOnEachDeviceAndOneDatabase) {
  const Outcome outcome =
      tune({"direction=forward,data,weights", "--devices", "all", "--out", out()},
           {{"MI300X_DEVICES", "4"}, {"MI300X_MODE", "SPX/NPS1"}});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("3 of 3 convolutions faster"),
                                 HasSubstr(find_file + ": 3 records new")));
  EXPECT_THAT(outcome.err,
              AllOf(HasSubstr("hip:0: [1/1]"), HasSubstr("hip:2: [1/1]"), Not(HasSubstr("hip:3"))));
}

TEST_F(TuneConv, WhatMiopenLacksIsLeftOut) {
  const Outcome outcome = tune({"precision=tf32", "--list"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("MIOpen convolves f32, f16 and bf16 here, not tf32"));
  const Outcome none = tune({"precision=tf32", "--out", out()});
  EXPECT_EQ(none.status, 4) << none.err;
}

/// The first fails in its search, the second ends the process; the third is tuned.
TEST_F(TuneConv, WhatFailsIsNamedAndStopsNothing) {
  const Outcome outcome =
      tune({"direction=forward,data,weights", "--out", out(), "--json", "--db",
            folder_.path() / "mistyped"},
           {{"MOCK_MIOPEN_FAIL", "miopenFindConvolutionForwardAlgorithm"},
            {"MOCK_MIOPEN_CRASH", "miopenFindConvolutionBackwardDataAlgorithm"}});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("mistyped does not exist: its databases will be new ones"));
  const Json json = json_lines(outcome.out).front();
  for (const Json& one : json["convolutions"]) {
    const std::string reason = one.value("reason", "");
    if (one["direction"] == "forward") {
      EXPECT_THAT(reason, HasSubstr("MIOpen 3.4.0: miopenFindConvolutionForwardAlgorithm: "
                                    "miopenStatusInternalError (5)"));
    } else if (one["direction"] == "data") {
      EXPECT_THAT(reason, HasSubstr("its process ended with status 134"));
    } else {
      EXPECT_EQ(one["faster"], true) << one;
    }
  }
}

/// A process of the proof that dies takes those with it that come after.
TEST_F(TuneConv, WhatEndsAProcessOfTheProofIsSaid) {
  const Outcome outcome = tune({"direction=forward,data", "--out", out(), "--json"},
                               {{"MOCK_MIOPEN_CRASH", "miopenConvolutionBackwardDataImmediate"}});
  EXPECT_THAT(outcome.err, HasSubstr("undone in the databases: 2 records"));
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const Json json = json_lines(outcome.out).front();
  EXPECT_EQ(json["convolutions"][0]["direction"], "forward");
  EXPECT_EQ(json["convolutions"][0]["faster"], true);
  EXPECT_EQ(json["convolutions"][1]["reason"], "before: its process ended before, with status 134");
  // What it found was never proven, and does not stay.
  ASSERT_EQ(json["databases"]["changes"].size(), 2u);
  for (const Json& change : json["databases"]["changes"]) {
    EXPECT_TRUE(change["key"].get<std::string>().ends_with("F")) << change;
  }
}

TEST(TuneConvWords, MistakesAreNamed) {
  const auto complaint = [](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"tune", "conv"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = assay_run(words);
    EXPECT_EQ(outcome.status, 2) << outcome.out;
    return outcome.err;
  };
  EXPECT_THAT(complaint({"--pairs", "7"}), HasSubstr("even numbers"));
  EXPECT_THAT(complaint({"--budget", "soon"}), HasSubstr("--unit-budget: bad duration"));
  EXPECT_THAT(complaint({"--suite", "memory"}), HasSubstr("no cell of the benchmark conv"));
  EXPECT_THAT(complaint({"find=best"}), HasSubstr("find= does not go with tune conv"));
  EXPECT_THAT(complaint({"--model", "7B"}), HasSubstr("tune conv has no option --model"));
  EXPECT_THAT(complaint({"--from", "/does/not/exist"}), HasSubstr("/does/not/exist"));
  EXPECT_THAT(complaint({"--before", "/does/not/exist"}), HasSubstr("--before"));
  EXPECT_THAT(complaint({"--device", "cpu", "--db", "/tmp"}), HasSubstr("backend hip, not cpu"));
  EXPECT_THAT(complaint({"flavour=8"}), HasSubstr("flavour"));
}

TEST(TuneConvWords, CallsOfALogAreListed) {
  const TemporaryFolder folder;
  const auto log = folder.write("log.txt",
                                "./bin/MIOpenDriver conv -n 1 -c 8 -H 8 -W 8 -k 8 -y 3 -x 3 -F 1\n"
                                "./bin/MIOpenDriver conv -n 1 -c 8 -H 8 -W 8 -k 8 -y 3 -x 3 -F 1\n"
                                "./bin/MIOpenDriver conv -n 0 -F 1\n");
  const Outcome outcome =
      assay_run({"tune", "conv", "--device", "cpu", "--from", log.string(), "--list", "--json"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const Json json = json_lines(outcome.out).front();
  ASSERT_EQ(json.size(), 1u);
  EXPECT_EQ(json[0]["calls"], 2);
  EXPECT_THAT(outcome.err, HasSubstr("left out: " + log.string() + ":3: "));
}

/// oneDNN has no databases; whatever is fastest, assay's own runs take.
TEST(TuneConvWords, ALibraryWithoutDatabasesIsComparedWithItsFirstChoice) {
  const TemporaryFolder folder;
  const auto tune = [&](const char* out) {
    return assay_run(
        {"tune", "conv", "n=1", "c=16", "h=14", "k=16", "direction=forward", "--device", "cpu",
         "--pairs", "6", "--budget", "1s", "--out", folder.path() / out},
        {{"XDG_CACHE_HOME", folder.path() / "cache"}});
  };
  // What an earlier run remembers is no search: the tuning measures all the same.
  const Outcome earlier = assay_run({"run", "conv", "n=1", "c=16", "h=14", "k=16",
                                     "direction=forward", "--device", "cpu", "--out", "-"},
                                    {{"XDG_CACHE_HOME", folder.path() / "cache"}});
  const Outcome outcome = tune("out");
  if (outcome.err.find("libdnnl") != std::string::npos) GTEST_SKIP() << "oneDNN is not installed";
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr(" of 1 convolutions faster"),
                                 HasSubstr("keeps no databases"), Not(HasSubstr("MIOPEN"))));
  const std::string searched =
      read_file(folder.path() / "out/runs/search/records.jsonl").value_or("");
  EXPECT_THAT(searched, AllOf(HasSubstr("\"choice\":\"measured\""),
                              Not(HasSubstr("measured in an earlier run"))))
      << earlier.err;
}

}  // namespace
}  // namespace assay

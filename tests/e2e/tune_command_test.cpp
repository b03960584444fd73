// assay tune command finds the best values of a program's parameters, proves them, and continues
// where it was killed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/read_file.h"
#include "e2e/json_lines.h"
#include "e2e/process.h"

namespace assay {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// A program whose time is least, 1000 us, at a=3 b=5; a=7 crashes, and a=6 b=6 hangs. Nothing in
/// it is random, so that a search always takes the same course.
std::string plan_of(const std::string& time, const std::string& more) {
  return R"(name: valley
command: [sh, -c, 'a=$1; b=$2; case $a$b in 7*) echo "no memory" >&2; exit 9;; 66) sleep 100;; esac;
  )" + time +
         R"(', program, '{a}', '{b}']
metrics: [{name: time, regex: 'time: (\S+) us', unit: us, better: lower}]
timeout: 3s
parameters: {a: 0..7+1, b: 0..7+1}
budget: {runs: 40}
pairs: {least: 6, most: 8}
)" + more;
}
const std::string valley =
    plan_of("echo \"time: $((1000 + 40 * (a - 3) * (a - 3) + 30 * (b - 5) * (b - 5))) us\"", "");

TEST(TuneCommand, FindsAndProvesTheBest) {
  const TemporaryFolder folder;
  const auto plan = folder.write("plan.yaml", valley);
  const auto out = (folder.path() / "out").string();
  const Outcome outcome = assay_run({"tune", "command", plan.string(), "--out", out});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("64 settings tried in "), HasSubstr("sh ended with 9: no memory"),
                    HasSubstr("a=3 b=5: 2.110 times as fast as the default"),
                    HasSubstr("pairs of new runs"), HasSubstr("better, proven")))
      << outcome.err;
  const Outcome again = assay_run({"tune", "command", plan.string(), "--out", out, "--json"});
  EXPECT_EQ(again.status, 0) << again.err;
  const Json json = json_lines(again.out).front();
  EXPECT_EQ(json["usual"], Json({{"a", "0"}, {"b", "0"}}));
  EXPECT_LE(json["runs"], 40);
  EXPECT_EQ(json["finalists"][0]["settings"], Json({{"a", "3"}, {"b", "5"}}));
  EXPECT_EQ(json["proof"]["better"], true);
  EXPECT_EQ(json["proof"]["verdict"], "FASTER");
  EXPECT_THAT(again.err, HasSubstr("continuing in " + out));
}

TEST(TuneCommand, ADryRunSaysWhatWouldBeTriedAndRunsNothing) {
  const TemporaryFolder folder;
  const auto plan = folder.write("plan.yaml", plan_of("touch ran", ""));
  const auto out = (folder.path() / "out").string();
  const Outcome outcome = assay_run({"tune", "command", plan.string(), "--out", out, "--dry-run"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  // 40 runs of the search and 16 of the proof, which are stopped after 3 s.
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("valley: 64 settings of 2 parameters"),
                                 HasSubstr("40 runs at most"), HasSubstr("at most 2:48")));
  EXPECT_FALSE(std::filesystem::exists(out));
}

TEST(TuneCommand, KilledAtAnyMomentItGoesOnWhereItWas) {
  const TemporaryFolder folder;
  const auto plan = folder.write("plan.yaml", valley);
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  const Outcome whole = assay_run(
      {"tune", "command", plan.string(), "--out", (folder.path() / "whole").string(), "--json"});
  const auto took = Clock::now() - begin;
  ASSERT_EQ(whole.status, 0) << whole.err;
  const std::vector<std::string> words = {
      "tune", "command", plan.string(), "--out", (folder.path() / "killed").string(), "--json"};
  int kills = 0;
  for (int part = 1; kills < 25; part = part * 7 % 11) {  // 1 to 10, in no order
    Process process(words);
    std::this_thread::sleep_for(took * part / 40);
    process.signal(SIGKILL);
    if (process.wait().status != 128 + SIGKILL) break;  // it was done
    ++kills;
  }
  EXPECT_GE(kills, 3);
  const Outcome rest = assay_run(words);
  ASSERT_EQ(rest.status, 0) << rest.err;
  Json one = json_lines(whole.out).front(), other = json_lines(rest.out).front();
  one.erase("seconds");
  other.erase("seconds");
  EXPECT_EQ(one, other);
}

TEST(TuneCommand, WhereNoSettingIsBetterItSaysSo) {
  const TemporaryFolder folder;
  // The program's number differs from run to run by up to 1%, whatever its parameters. The numbers
  // are equal in every run of this test: if they were random, one proof in twenty would need more
  // pairs.
  const std::string count = (folder.path() / "count").string();
  const auto plan = folder.write(
      "plan.yaml", plan_of("c=$(cat " + count + " 2>/dev/null || echo 0); echo $((c + 1)) >" +
                               count + "; n=$(((c * c * 31 + c * 17 + 7) % 251)); " +
                               "echo \"time: $((100000 + n * 4)) us\"",
                           "seed: 3\n"));
  const Outcome outcome = assay_run({"tune", "command", plan.string()});
  EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("no setting is better"), Not(HasSubstr("better, proven"))));
}

TEST(TuneCommand, WhatCannotBeTunedIsSaid) {
  const TemporaryFolder folder;
  const Outcome none = assay_run({"tune", "command"});
  EXPECT_EQ(none.status, 2);
  EXPECT_THAT(none.err, HasSubstr("tune command takes one plan"));
  const Outcome missing = assay_run({"tune", "command", "missing.yaml"});
  EXPECT_EQ(missing.status, 2);
  EXPECT_THAT(missing.err, HasSubstr("missing.yaml"));
  const auto failing = folder.write("plan.yaml", plan_of("echo no number", ""));
  const Outcome outcome = assay_run({"tune", "command", failing.string()});
  EXPECT_EQ(outcome.status, 4);
  EXPECT_THAT(outcome.err,
              HasSubstr("nothing was measured with the default values: metric time: no "
                        "line of its output matches"));
  const Outcome gone = assay_run({"tune", "command", "missing.yaml", "--combine"});
  EXPECT_EQ(gone.status, 2);
}

/// A program of this name, to be first in PATH.
void stand_in(const TemporaryFolder& folder, const std::string& name, const std::string& script) {
  const auto file = folder.write("bin/" + name, "#!/bin/sh\n" + script + "\n");
  std::filesystem::permissions(file, std::filesystem::perms::owner_all);
}

// The programs of the example plans are not here: what stands for them prints what they print.
TEST(TuneCommand, ExamplesRunAsWritten) {
  const TemporaryFolder folder;
  stand_in(folder, "python3",
           "case $1 in\n"
           "*inductor*) echo \"time: $((20 - 5 * ${TORCHINDUCTOR_MAX_AUTOTUNE:-0})).25 ms\" ;;\n"
           "*tensilelite*) echo \"time: $((900 - $6 * 2 - $3 * 5)).25 us\" ;;\n"
           "*) echo \"time: $(((300 - $2) * 10 + $6)).25 ms\" ;;\n"
           "esac");
  stand_in(folder, "ckProfiler",
           "echo \"Best Perf for datatype = f16 ALayout = RowMajor: 0.$((90 - ${14})) ms, 107.9 "
           "TFlops, 79.0 GB/s, DeviceGemm\"");
  stand_in(folder, "hipblaslt-bench",
           "echo '[0]:transA,transB,grouped_gemm,hipblaslt-Gflops,hipblaslt-GB/s,us'\n"
           "for last; do :; done\necho \"    T,N,0,1,8192,8192,8192,1,650000,370,$((2000 - "
           "last)).5\"");
  stand_in(folder, "vllm",
           "for word; do [ \"$last\" = --block-size ] && size=$word; last=$word; done\n"
           "echo \"{\\\"avg_latency\\\": $((100 - size)).0}\" > vllm_latency.json");
  for (const char* name : {"triton", "ck", "hipblaslt", "vllm", "inductor", "tensilelite"}) {
    const Outcome printed = assay_run({"tune", "command", "--example", name});
    ASSERT_EQ(printed.status, 0) << printed.err;
    const auto plan = folder.write(std::string(name) + ".yaml", printed.out);
    const Outcome outcome =
        assay_run({"tune", "command", plan.string(), "--json"},
                  {{"PATH", (folder.path() / "bin").string() + ":/usr/local/bin:/usr/bin:/bin"}});
    EXPECT_EQ(outcome.status, 0) << name << ": " << outcome.out << outcome.err;
    const std::vector<Json> lines = json_lines(outcome.out);
    ASSERT_FALSE(lines.empty()) << name;
    ASSERT_TRUE(lines.front().contains("proof")) << name << ": " << outcome.out << outcome.err;
    EXPECT_EQ(lines.front()["proof"]["better"], true) << name << ": " << outcome.out;
  }
  const Outcome none = assay_run({"tune", "command", "--example", "trition"});
  EXPECT_EQ(none.status, 2);
  EXPECT_THAT(none.err, HasSubstr("did you mean \"triton\"?"));
}

TEST(TuneCommand, TheProgramForTensileLiteDescribesOneKernelAndReadsItsTime) {
  if (std::system("python3 -c '' 2>/dev/null") != 0) GTEST_SKIP() << "python3 is not installed";
  const TemporaryFolder folder;
  stand_in(folder, "Tensile",
           "cp \"$1\" '" + (folder.path() / "config.yaml").string() + "'\n" +
               R"(grep -q 'DepthU: \[64\]' "$1" || { echo 'no valid solution'; exit 1; }
mkdir -p "$2/2_BenchmarkData"
printf ' SizeI, WinnerGFlops, WinnerTimeUS, WinnerName\n 4096, 600000, 228.5, Cijk\n' \
  >"$2/2_BenchmarkData/Cijk_CSVWinner.csv")");
  const auto measure = [&](const char* depth) {
    return Process({"python3", ASSAY_SOURCE_DIR "/examples/tuning/tensilelite_gemm.py", "16", "8",
                    "4", "2", depth, "1", "8", "2", "512", "256", "128"},
                   {{"TENSILE", (folder.path() / "bin/Tensile").string()}}, "", "/usr/bin/env")
        .wait();
  };
  const Outcome outcome = measure("64");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "time: 228.500000 us\n");
  EXPECT_THAT(*read_file(folder.path() / "config.yaml"),
              AllOf(HasSubstr("- [16, 16, 16, 1, 1, 8, 4, 2, 2]"),
                    HasSubstr("- Exact: [512, 256, 1, 128]")));
  const Outcome invalid = measure("32");
  EXPECT_EQ(invalid.status, 1);
  EXPECT_THAT(invalid.err, HasSubstr("no valid kernel: no valid solution"));
}

}  // namespace
}  // namespace assay

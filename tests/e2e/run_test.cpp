// assay run, show and their records on the fake backend.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>

#include "compute/backends/cpu/host_facts.h"
#include "e2e/json_lines.h"
#include "e2e/process.h"
#include "support/sanitized.h"

namespace assay {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::vector<std::string> two_cells = {"run",       "memory",    "op=copy,triad", "dtype=f64",
                                            "size=1MiB", "cache=hot", "--device",      "fake"};

std::vector<std::string> with(std::vector<std::string> arguments,
                              std::initializer_list<std::string> more) {
  arguments.insert(arguments.end(), more);
  return arguments;
}

/// Runs assay in a mount namespace where an empty folder covers /proc.
Outcome without_proc(const std::vector<std::string>& arguments) {
  std::vector<std::string> words = {"-c",
                                    "exec unshare --user --map-root-user --mount sh -c 'mount -t "
                                    "tmpfs none /proc && exec \"$@\"' sh \"$@\"",
                                    "sh"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  Process process(words, {}, "", "/bin/sh");
  return process.wait();
}

TEST(Run, MeasuresSomeCellsLast) {
  const auto ops = [](const char* last) {
    std::string order;
    for (const Json& line :
         json_lines(assay_run(with(two_cells, {"--json", "--last", last})).out)) {
      order += line["axes"]["op"].get<std::string>() + " ";
    }
    return order;
  };
  EXPECT_EQ(ops("0"), "triad copy ");
  EXPECT_EQ(ops("1,0"), "triad copy ");
  EXPECT_EQ(ops("1,1,7"), "copy triad ");
  EXPECT_THAT(assay_run(with(two_cells, {"--last", "x"})).err, HasSubstr("--last: "));
}

TEST(Run, MeasuresWithoutProcAndSaysThatItIsMissing) {
  if (is_sanitized) GTEST_SKIP() << "sanitizers need /proc themselves";
  if (without_proc({"true"}).status != 0) GTEST_SKIP() << "namespaces are not permitted here";
  const Outcome one = without_proc({ASSAY_BINARY, "run", "memory", "op=copy", "size=1MiB",
                                    "dtype=f32", "--device", "cpu", "--json", "--out", "-"});
  EXPECT_EQ(one.status, 0) << one.err;
  EXPECT_THAT(one.err, HasSubstr("assay: /proc is missing"));
  const Outcome ranks =
      without_proc({ASSAY_BINARY, "run", "collective", "op=all_reduce", "size=4KiB", "library=tcp",
                    "--device", "cpu", "--ranks", "2", "--out", "-"});
  EXPECT_EQ(ranks.status, 0) << ranks.err;
  const Json devices = Json::parse(without_proc({ASSAY_BINARY, "devices", "--json"}).out);
  const Json usual = Json::parse(assay_run({"devices", "--json"}).out);
  for (const char* fact : {"memory_bytes", "multiprocessors"}) {
    EXPECT_EQ(devices[0]["devices"][0][fact], usual[0]["devices"][0][fact]) << fact;
  }
  const std::string brand = cpu::brand_of_cpu();
  EXPECT_EQ(devices[0]["devices"][0]["name"], brand.empty() ? "CPU" : brand);
  EXPECT_THAT(without_proc({ASSAY_BINARY, "doctor"}).err, HasSubstr("assay: /proc is missing"));
}

TEST(Run, TablesOnStandardOutputProgressOnStandardError) {
  const Outcome outcome = assay_run(two_cells);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("memory dtype=f64 size=1MiB cache=hot\n"));
  EXPECT_THAT(outcome.out, HasSubstr("GB/s  ["));
  EXPECT_THAT(outcome.out, HasSubstr("2 cells: 2 passed in 0:"));
  EXPECT_THAT(outcome.out, HasSubstr("stored in assay-results as run "));
  EXPECT_THAT(outcome.err, HasSubstr("[2/2] memory op=triad"));
  EXPECT_THAT(outcome.out + outcome.err, Not(HasSubstr("\x1b")));
}

TEST(Run, ProgressNamesWhatVariesOrWasGiven) {
  const Outcome outcome =
      assay_run({"run", "memory", "op=copy", "size=1MiB,2MiB", "--device", "fake"},
                {{"ASSAY_FAKE", "noise=0.01"}});
  EXPECT_THAT(outcome.err, HasSubstr("[1/2] memory op=copy size=1MiB: "));
  const Outcome lacks = assay_run({"run", "memory", "op=copy", "size=1TiB", "--device", "fake"});
  EXPECT_THAT(lacks.out, HasSubstr("unsupported: memory\n"));
}

TEST(Run, AdviceSaysWhatTheUserCanType) {
  const Outcome outcome =
      assay_run({"run", "launch", "metric=submit"}, {{"ASSAY_COMMAND", "./run"}});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.out, HasSubstr("`./run report assay-results -o report.html` draws it"));
}

TEST(Run, JsonIsTheStoredRecords) {
  Process process(with(two_cells, {"--json"}));
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(json_lines(outcome.out).size(), 2u);
  EXPECT_EQ(outcome.out, Process::read(process.folder() / "assay-results" / "records.jsonl"));
  const Json fingerprint =
      json_lines(Process::read(process.folder() / "assay-results" / "fingerprints.jsonl")).at(0);
  EXPECT_EQ(json_lines(outcome.out)[0]["fingerprint"], fingerprint["id"]);
}

TEST(Run, RecordsAreValidByThePublishedSchema) {
  if (std::system("python3 -c 'import jsonschema' 2>/dev/null") != 0) {
    GTEST_SKIP() << "python3-jsonschema is not installed";
  }
  const TemporaryFolder folder;
  const std::string store = folder.path() / "store";
  // A record of each status: passed, failed, error, unsupported, interrupted.
  assay_run(with(two_cells, {"--out", store}));
  assay_run(with(two_cells, {"--out", store}), {{"ASSAY_FAKE", "corrupt=1,throttle=0.5"}});
  assay_run(with(two_cells, {"--out", store}), {{"ASSAY_FAKE", "fail_at=1"}});
  assay_run({"run", "memory", "op=copy", "size=1TiB", "--device", "fake", "--out", store});
  assay_run(with(two_cells, {"--out", store, "--budget", "1ms"}));
  assay_run({"run", "launch", "--device", "cpu", "--out", store, "--budget", "2s"});
  const auto script = folder.write("validate.py",
                                   "import json, sys, jsonschema\n"
                                   "schema = json.load(open(sys.argv[1]))\n"
                                   "jsonschema.Draft7Validator.check_schema(schema)\n"
                                   "validator = jsonschema.Draft7Validator(schema)\n"
                                   "seen = set()\n"
                                   "for line in open(sys.argv[2]):\n"
                                   "    record = json.loads(line)\n"
                                   "    validator.validate(record)\n"
                                   "    seen.add(record['status'])\n"
                                   "    telemetry = record.get('telemetry')\n"
                                   "    if telemetry:\n"
                                   "        for name in ('seconds', 'channels'):\n"
                                   "            readings = telemetry.pop(name)\n"
                                   "            assert not validator.is_valid(record), name\n"
                                   "            telemetry[name] = readings\n"
                                   "        del telemetry['seconds'], telemetry['channels']\n"
                                   "        validator.validate(record)\n"
                                   "        seen.add('telemetry')\n"
                                   "        record['samples'].pop('clock_hz', None)\n"
                                   "        del record['samples']['throttled']\n"
                                   "        validator.validate(record)\n"
                                   "    del record['run']\n"
                                   "    assert not validator.is_valid(record)\n"
                                   "print(' '.join(sorted(seen)))\n");
  const Outcome outcome = Process({"python3", script, ASSAY_SOURCE_DIR "/docs/record.schema.json",
                                   store + "/records.jsonl"},
                                  {}, "", "/usr/bin/env")
                              .wait();
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "error failed interrupted passed telemetry unsupported\n");
}

TEST(Run, ExitStatusTellsHowItWent) {
  EXPECT_EQ(assay_run(two_cells, {{"ASSAY_FAKE", "corrupt=1"}}).status, 3);
  EXPECT_EQ(assay_run(two_cells, {{"ASSAY_FAKE", "fail_at=1"}}).status, 1);
  const Outcome nothing =
      assay_run({"run", "memory", "op=copy", "size=1TiB", "dtype=f64", "--device", "fake"});
  EXPECT_EQ(nothing.status, 4);
  EXPECT_THAT(nothing.out, HasSubstr("unsupported: "));
}

TEST(Run, AFailedVerificationShowsNoNumber) {
  const Outcome outcome = assay_run(two_cells, {{"ASSAY_FAKE", "corrupt=1"}});
  EXPECT_THAT(outcome.out, Not(HasSubstr("GB/s")));
  EXPECT_THAT(outcome.out, HasSubstr("failed: "));
}

TEST(Run, DryRunPrintsTheCellsAndMeasuresNothing) {
  Process process(with(two_cells, {"--dry-run"}));
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.out,
            "memory op=copy dtype=f64 size=1MiB cache=hot\n"
            "memory op=triad dtype=f64 size=1MiB cache=hot\n");
  EXPECT_FALSE(std::filesystem::exists(process.folder() / "assay-results"));
  const auto lines = json_lines(assay_run(with(two_cells, {"--dry-run", "--json"})).out);
  EXPECT_EQ(lines.at(1)["axes"]["op"], "triad");
}

TEST(Run, ColourOnlyWhenWanted) {
  EXPECT_THAT(assay_run(with(two_cells, {"--color", "always"})).out, HasSubstr("\x1b[32mpassed"));
  EXPECT_THAT(assay_run(with(two_cells, {"--color=always"}), {{"NO_COLOR", "1"}}).out,
              HasSubstr("\x1b[32mpassed"));
  EXPECT_THAT(assay_run(with(two_cells, {"--color", "never"})).out, Not(HasSubstr("\x1b")));
}

TEST(Run, TheBudgetHolds) {
  const auto begin = std::chrono::steady_clock::now();
  const Outcome outcome = assay_run({"run", "memory", "op=all", "dtype=f64", "size=1MiB..16MiB*2",
                                     "--device", "fake", "--budget", "2s"},
                                    {{"ASSAY_FAKE", "noise=0.3,sleep=0.001"}});
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_LT(took.count(), 60);  // without a budget it takes minutes
}

TEST(Run, RepeatedRunsShareTheBudget) {
  const Outcome outcome = assay_run({"run", "memory", "op=copy", "size=1MiB", "dtype=f64",
                                     "--device", "fake", "--budget", "3s", "--repeat", "2"},
                                    {{"ASSAY_FAKE", "noise=0.01"}});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("run 2 of 2 in 1.500 s\n"));
}

TEST(Run, ASpentBudgetSaysHowMuchIsMissing) {
  const Outcome outcome = assay_run({"run", "memory", "op=all", "dtype=f64", "size=1MiB..16MiB*2",
                                     "--device", "fake", "--budget", "300ms"},
                                    {{"ASSAY_FAKE", "sleep=0.02"}});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("interrupted"));
  EXPECT_THAT(outcome.out, HasSubstr("; at this pace all of them need --budget "));
  const Outcome enough =
      assay_run({"run", "memory", "op=copy", "size=1MiB", "--device", "fake", "--budget", "60s"});
  EXPECT_THAT(enough.out, Not(HasSubstr("at this pace")));
}

TEST(Run, AFullDiskEndsTheRunAndKeepsWhatIsStored) {
  const TemporaryFolder folder;
  if (::mount("tmpfs", folder.path().c_str(), "tmpfs", 0, "size=16k") != 0) {
    GTEST_SKIP() << "a small file system needs root to mount";
  }
  const Outcome outcome = assay_run({"run", "memory", "op=all", "dtype=f64", "size=1MiB,2MiB",
                                     "--device", "fake", "--out", folder.path()});
  EXPECT_EQ(outcome.status, 5);
  EXPECT_THAT(outcome.err, HasSubstr("No space left on device"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("stored in")));
  const Outcome shown = assay_run({"show", folder.path(), "--json"});
  EXPECT_EQ(shown.status, 0);
  EXPECT_EQ(shown.err, "");  // no torn line
  ::umount(folder.path().c_str());
}

TEST(Run, WithoutMemoryForAThreadItEndsInOneLine) {
  if (is_sanitized) GTEST_SKIP() << "a sanitizer needs more addresses than the limit leaves";
  // A thread's stack is larger than all addresses that are left.
  const Outcome outcome =
      Process({"-c",
               "ulimit -c 0; ulimit -s 4000000; ulimit -v 1500000; exec \"$0\" run memory op=copy "
               "size=1MiB dtype=f32 --device cpu --out -",
               ASSAY_BINARY},
              {}, "", "/bin/sh")
          .wait();
  EXPECT_EQ(outcome.status, 4);
  EXPECT_THAT(outcome.err,
              testing::MatchesRegex("(.*\n)?assay: the system refused a thread: .*; raise the "
                                    "limits of processes and memory .*\n"));
}

TEST(Run, APipeThatClosesEndsTheRunQuietly) {
  const TemporaryFolder folder;
  const std::string command = std::string(ASSAY_BINARY) +
                              " run memory op=all dtype=f64 size=1MiB..16MiB*2 --device fake --json"
                              " --out " +
                              (folder.path() / "store").string() + " 2>" +
                              (folder.path() / "err").string() +
                              " | head -n 1 >/dev/null;"
                              " exit ${PIPESTATUS[0]}";
  const Outcome outcome = Process({"-c", command}, {}, "", "/bin/bash").wait();
  EXPECT_EQ(outcome.status, 130);
  EXPECT_THAT(Process::read(folder.path() / "err"), Not(HasSubstr("cannot write")));
}

TEST(Show, FiltersAndNamesDamagedLines) {
  const TemporaryFolder folder;
  const std::string store = folder.path() / "store";
  assay_run(with(two_cells, {"--out", store}));
  assay_run(with(two_cells, {"--out", store}));
  EXPECT_EQ(json_lines(assay_run({"show", store, "--json"}).out).size(), 4u);
  EXPECT_EQ(json_lines(assay_run({"show", store, "--json", "--run", "last"}).out).size(), 2u);
  EXPECT_EQ(json_lines(assay_run({"show", store, "--json", "op=triad", "size=1024KiB"}).out).size(),
            2u);
  EXPECT_EQ(assay_run({"show", store, "--json", "--benchmark", "copy"}).out, "");
  EXPECT_THAT(assay_run({"show", store, "op=triad"}).out, HasSubstr("2 cells: 2 passed"));
  std::ofstream(store + "/records.jsonl", std::ios::app) << "{\"schema\":1,";
  const Outcome torn = assay_run({"show", store, "--json"});
  EXPECT_EQ(torn.status, 0);
  EXPECT_EQ(json_lines(torn.out).size(), 4u);
  EXPECT_THAT(torn.err, HasSubstr("records.jsonl:5: torn last line, ignored"));
}

}  // namespace
}  // namespace assay

// assay campaign with real processes on the fake backend.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>

#include "e2e/campaign_study.h"
#include "e2e/json_lines.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const std::string two_hosts =
    "environments:\n  - {name: a, kind: host}\n  - {name: b, kind: command, prefix: [env]}\n";

TEST(CampaignCommand, MeasuresEveryPairOfEveryEnvironmentAndItsControl) {
  const Study study(head() + two_hosts);
  const Outcome outcome = study.run({"--pairs", "2"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  const auto complete = study.complete();
  EXPECT_EQ(complete.size(), 6u);
  for (const char* unit : {"a0", "b0", "a-control0", "a1", "b1", "a-control1"}) {
    EXPECT_EQ(complete.count(unit), 1u) << unit;
  }
  EXPECT_THAT(outcome.out, HasSubstr("2 pairs after "));
  EXPECT_THAT(outcome.err, HasSubstr("pair 0 "));
  // The folder of each environment is a store, whose records refer to the environment's
  // fingerprint.
  const Outcome shown = assay_run({"show", (study.out() / "b").string(), "--json"});
  EXPECT_EQ(shown.err, "");
  const auto records = json_lines(shown.out);
  ASSERT_EQ(records.size(), 2u);
  const auto fingerprints = json_lines(Process::read(study.out() / "b" / "fingerprints.jsonl"));
  EXPECT_EQ(records[0]["fingerprint"], fingerprints.at(0)["id"]);
}

/// Without noise: with it, six pairs may seem to depend on each other, and be too few, as this
/// machine's pace decides how many values a unit has.
TEST(CampaignCommand, StopsWhenPreciseAndComparesPaired) {
  const Study study(head("pairs: {least: 6, most: 8}\n") + two_hosts);
  const Outcome outcome = study.run({}, {{"ASSAY_FAKE", "noise=0"}});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("6 pairs after "),
                                 HasSubstr("every cell is precise enough"), HasSubstr("EQUAL")))
      << outcome.err;
}

TEST(CampaignCommand, ItsTermsAreUsedByCompareAndReport) {
  const Study study(head("margin: 7%\ndescription: what a doubt costs\n") + two_hosts);
  EXPECT_THAT(study.run({"--pairs", "6"}).out, HasSubstr("margin 7%"));
  EXPECT_THAT(assay_run({"compare", study.out()}).out, HasSubstr("margin 7%"));
  EXPECT_THAT(assay_run({"compare", study.out(), "--margin", "3%"}).out, HasSubstr("margin 3%"));
  const std::string report = assay_run({"report", study.out(), "--format", "md"}).out;
  EXPECT_THAT(report, AllOf(HasSubstr("margin 7%"), HasSubstr("what a doubt costs")));
}

/// The time of a unit is spent by its first cell: in the next pair others come first, the same ones
/// in all environments.
TEST(CampaignCommand, CellsThatTakeTooLongTakeTurns) {
  const Study study(
      "name: t\nsuite: memory\naxes: {op: [copy, triad], dtype: f64, size: 1MiB}\n"
      "device: fake\ntelemetry: off\ncontrol: off\nunit_budget: 10ms\n" +
      two_hosts);
  const Outcome outcome = study.run({"--pairs", "4"}, {{"ASSAY_FAKE", "sleep=0.002"}});
  for (const char* environment : {"a", "b"}) {
    const auto records = json_lines(Process::read(study.out() / environment / "records.jsonl"));
    ASSERT_EQ(records.size(), 8u) << outcome.err;
    std::map<std::string, int> measured;
    for (const Json& record : records) {
      if (record["status"] == "passed") ++measured[record["axes"]["op"]];
    }
    EXPECT_GE(measured["copy"], 1) << outcome.err;
    EXPECT_GE(measured["triad"], 1) << outcome.err;
  }
}

TEST(CampaignCommand, WhatItsBudgetHasNoTimeForIsSaidBeforeItBegins) {
  const Study study(head("budget: 60s\npairs: {least: 500, most: 500}\n") + two_hosts);
  Process process(study.words());
  ASSERT_TRUE(process.wait_for_error_text("pair 0 "));
  process.signal(SIGINT);
  const std::string err = process.wait().err;
  const std::size_t said = err.find("the budget of 1:00 has time for about ");
  ASSERT_NE(said, std::string::npos) << err;
  EXPECT_LT(said, err.find("pair 0 ")) << err;
}

/// A unit that takes longer than the whole budget is ended with it.
TEST(CampaignCommand, TheBudgetHolds) {
  const Study study(head("budget: 8s\ncontrol: off\n") +
                    "environments:\n  - {name: a, kind: host}\n"
                    "  - {name: b, kind: command, prefix: " +
                    after_look("exec sleep 600") + "}\n");
  const Outcome outcome = study.run();
  EXPECT_EQ(outcome.status, 4) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("the budget has no time for more"));
  EXPECT_EQ(last_of(outcome.err),
            "assay: the budget of 0:08 was spent before the first pair was whole, so that "
            "nothing can be compared; give more, or measure fewer cells\n");
  for (const Json& unit : study.units()) EXPECT_EQ(unit["environment"], "a");
}

TEST(CampaignCommand, JsonIsTheUnitsAndTheOutcome) {
  const Study study(head() + two_hosts);
  const auto lines = json_lines(study.run({"--pairs", "2", "--json"}).out);
  ASSERT_EQ(lines.size(), 7u);
  EXPECT_EQ(lines[0], study.units()[0]);
  EXPECT_EQ(lines[6]["pairs"], 2);
}

TEST(CampaignCommand, ADryRunPrintsEveryCommandAndTouchesNothing) {
  const Study study(head() + two_hosts);
  const auto lines = json_lines(study.run({"--dry-run", "--json"}).out);
  ASSERT_EQ(lines.size(), 30u);
  EXPECT_EQ(lines[7]["position"], 7);
  EXPECT_EQ(lines[7]["pair"], 2);
  EXPECT_THAT(lines[7]["words"].get<std::vector<std::string>>(), testing::Contains("op=copy"));
  const std::string text = study.run({"--dry-run"}).out;
  std::size_t commands = 0;
  for (std::size_t at = 0; (at = text.find(" run memory ", at)) != std::string::npos; ++at) {
    ++commands;
  }
  EXPECT_EQ(commands, 2u) << text;
  EXPECT_THAT(text, HasSubstr("\na-control\n  the command of a\n"));
  EXPECT_THAT(text, testing::ContainsRegex("\npair 0: [ab].*, [ab].*\npair 1: "));
  EXPECT_THAT(text,
              testing::EndsWith("\nexpected: 0:15 for 10 pairs, at most 1:00 for 40, at 3 s a "
                                "cell; starting the environments comes on top\n"));
  EXPECT_FALSE(std::filesystem::exists(study.out()));
}

/// Not only ssh's words: what it is given is what runs there.
TEST(CampaignCommand, ADryRunPrintsWhatSshIsGiven) {
  const Study study(head("control: off\n") +
                    "environments:\n  - {name: host, kind: host}\n"
                    "  - {name: far, kind: ssh, target: h, binary: /x, variables: {A: b}}\n");
  EXPECT_THAT(study.run({"--dry-run"}).out,
              AllOf(HasSubstr("far\n  printf %s '{\nexport A='\\''b'\\''\nexec /x run "),
                    HasSubstr("' | ssh -o 'BatchMode=yes' ")));
  std::string input;
  for (const Json& line : json_lines(study.run({"--dry-run", "--json"}).out)) {
    if (line["environment"] == "far") input = line["input"];
  }
  EXPECT_THAT(input, testing::StartsWith("{\nexport A='b'\nexec /x run "));
}

TEST(CampaignCommand, MistakesNameTheLine) {
  const Study study("name: x\nsuite: memory\nenvironments:\n  - {name: a, kind: hots}\n");
  const Outcome outcome = study.run();
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, HasSubstr("plan.yaml:4: unknown kind \"hots\""));
  EXPECT_EQ(assay_run({"campaign", "/no/such.yaml"}).status, 2);
  const Study good(head() + two_hosts);
  EXPECT_THAT(good.run({"--pairs", "0"}).err, HasSubstr("allowed: 1 to 10000"));
}

/// Two pairs of such a campaign have one draw, and what it has measured counts.
TEST(CampaignCommand, OneThatAnOlderVersionBeganGoesOnInItsOwnOrder) {
  const Study study(head() + two_hosts);
  EXPECT_EQ(study.run({"--pairs", "2"}).status, 0);
  // Older versions wrote the words that measure, and nothing about the order.
  const std::filesystem::path file = study.out() / "measure.json";
  const Json measure = Json::parse(Process::read(file));
  EXPECT_EQ(measure["draw"], "pair");
  std::ofstream(file) << measure["measure"].dump(2) + "\n";
  EXPECT_THAT(study.run({"--pairs", "5"}).err, HasSubstr("allowed: even numbers"));
  EXPECT_EQ(study.run({"--pairs", "6"}).status, 0);
  std::map<std::size_t, std::vector<std::string>> orders;
  for (const Json& unit : study.units()) {
    orders[unit["pair"].get<std::size_t>()].push_back(unit["environment"]);
  }
  ASSERT_EQ(orders.size(), 6u);
  for (const std::size_t first : {2u, 4u}) {
    std::ranges::reverse(orders[first]);
    EXPECT_EQ(orders[first], orders[first + 1]);
  }
  const Json compared = Json::parse(assay_run({"compare", study.out(), "--json"}).out);
  EXPECT_EQ(compared["cells"][0]["effect"]["pairs"], 6);
  EXPECT_EQ(compared["cells"][0]["p_different"], 1) << "three draws prove no difference";
}

TEST(CampaignCommand, AnotherPlanInTheSameFolderIsAnError) {
  const Study study(head() + two_hosts);
  ASSERT_EQ(study.run({"--pairs", "2"}).status, 0);
  study.folder().write("plan.yaml", head("margin: 1%\n") + two_hosts);
  const Outcome outcome = study.run({"--pairs", "2"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, HasSubstr("plan.yaml:7: was \"environments:\", is \"margin: 1%\""));
}

TEST(CampaignCommand, AnEnvironmentThatFailsCostsTheOthersNothing) {
  const Study study(head() + two_hosts + "  - {name: bad, kind: command, prefix: " +
                    after_look("echo no such node >&2; exit 9") + "}\n");
  const Outcome outcome = study.run({"--pairs", "4"});
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("permanently failed: bad\n"));
  EXPECT_THAT(outcome.err,
              HasSubstr("bad: attempt 2 failed: it exited with status 9: no such node"));
  EXPECT_EQ(study.complete().size(), 12u);
  bool told = false;
  for (const Json& unit : study.units()) {
    told = told || (unit["environment"] == "bad" && unit["stderr"] == "no such node\n");
  }
  EXPECT_TRUE(told);
}

TEST(CampaignCommand, IfNoUnitRanNothingIsCompared) {
  const std::string fails = "{name: a, kind: command, prefix: " + after_look("exit 1") + "}\n";
  const Study study(head() + "environments:\n  - " + fails);
  const Outcome outcome = study.run({"--pairs", "8"});
  EXPECT_EQ(outcome.status, 4);
  EXPECT_THAT(outcome.out, Not(HasSubstr("EQUAL")));
  EXPECT_THAT(outcome.out, Not(HasSubstr("stored in")));
  EXPECT_THAT(outcome.err, HasSubstr("a: attempt 2 failed: it exited with status 1"));
  const std::string compared = assay_run({"compare", study.out()}).out;
  EXPECT_THAT(compared, StartsWith("INVALID: "));
  EXPECT_THAT(compared, Not(HasSubstr("cells:")));  // no table of nothing
}

/// An environment that dies in the middle: the other one is measured against nothing no further.
TEST(CampaignCommand, WhereNothingIsLeftToCompareItStopsAndSaysWhyLast) {
  const TemporaryFolder folder;
  const std::string count = folder.path() / "count";
  const Study study(
      head() +
      "environments:\n  - {name: a, kind: host}\n"
      "  - {name: b, kind: command, prefix: " +
      after_look("echo x >> " + count + "; [ $(wc -l < " + count +
                 ") -gt 2 ] || exec \"$0\" \"$@\"; echo the node is gone >&2; exit 9") +
      "}\n");
  const Outcome outcome = study.run({"--pairs", "20"});
  EXPECT_EQ(outcome.status, 4) << outcome.err;
  EXPECT_EQ(last_of(outcome.err),
            "assay: nothing is left to compare: b failed three times in a row, at last: it exited "
            "with status 9: the node is gone\n");
  const auto units = study.units();
  ASSERT_FALSE(units.empty());
  EXPECT_EQ(units.back()["environment"], "b") << outcome.err;
  EXPECT_EQ(study.complete().count("b0"), 1u) << "what was measured before is kept";
}

TEST(CampaignCommand, AUnitThatFailsOnceIsRetried) {
  const TemporaryFolder flag;
  const std::string once = "if mkdir " + (flag.path() / "once").string() +
                           " 2>/dev/null; then exit 3; else exec \"$0\" \"$@\"; fi";
  const Study study(head("control: off\n") +
                    "environments:\n  - {name: a, kind: host}\n"
                    "  - {name: b, kind: command, prefix: " +
                    after_look(once) + "}\n");
  const Outcome outcome = study.run({"--pairs", "2"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("1 units were retried"));
  EXPECT_EQ(study.complete().size(), 4u);
  EXPECT_EQ(study.units().size(), 5u);
}

/// An environment that notes the process ids of its units in $ASSAY_PIDS.
const std::string noted =
    "  - {name: b, kind: command, prefix: [sh, -c, 'echo $$ >> $ASSAY_PIDS; exec \"$0\" "
    "\"$@\"']}\n";

/// False for zombies, which their parent may not have waited for yet.
bool runs(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(file, text);
  const std::size_t name_end = text.rfind(") ");
  return name_end != std::string::npos && text[name_end + 2] != 'Z';
}

/// Whether one of them still runs after half a minute.
bool any_runs(const std::string& pids) {
  std::istringstream started(Process::read(pids));
  bool any = false;
  for (pid_t pid = 0; started >> pid;) {
    for (int i = 0; i < 3000 && runs(pid); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    any = any || runs(pid);
  }
  return any;
}

TEST(CampaignCommand, AKillOfTheCampaignEndsItsUnit) {
  // A unit that never writes and so never learns that its output is closed.
  const Study study(head() +
                    "environments:\n  - {name: a, kind: command, prefix: [sh, -c, 'echo $$ >> "
                    "$ASSAY_PIDS; exec sleep 60']}\n");
  const TemporaryFolder folder;
  const std::string pids = folder.path() / "pids";
  Process process(study.words({"--pairs", "2"}), {{"ASSAY_PIDS", pids}});
  for (int i = 0; i < 6000 && Process::read(pids).empty(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ASSERT_NE(Process::read(pids), "");
  process.signal(SIGKILL);
  process.wait();
  EXPECT_FALSE(any_runs(pids));
}

TEST(CampaignCommand, AKillLosesOneUnitAndTheNextCallContinues) {
  const Study study(head() + two_hosts);
  {
    Process process(study.words({"--pairs", "4"}), {{"ASSAY_FAKE", "sleep=0.001"}});
    ASSERT_TRUE(process.wait_for_error_text("pair 1 "));
    process.signal(SIGKILL);
    EXPECT_EQ(process.wait().status, 128 + SIGKILL);
  }
  const auto before = study.units();
  EXPECT_GE(before.size(), 4u);
  EXPECT_LT(before.size(), 12u);
  // The file looks as if the process had been killed in the middle of a write.
  std::ofstream(study.out() / "units.jsonl", std::ios::app) << "{\"environment\":\"a\",\"pa";
  const Outcome next = study.run({"--pairs", "4"});
  EXPECT_EQ(next.status, 0) << next.err;
  EXPECT_THAT(next.err, HasSubstr("continuing "));
  const auto after = study.units();
  ASSERT_EQ(after.size(), 12u);
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_EQ(after[i], before[i]);
  for (const auto& [unit, count] : study.complete()) EXPECT_EQ(count, 1) << unit;
}

TEST(CampaignCommand, CtrlCEndsTheRunningUnitAndKeepsTheFinishedOnes) {
  const Study study(head() + "environments:\n  - {name: a, kind: host}\n" + noted);
  const TemporaryFolder folder;
  const std::string pids = folder.path() / "pids";
  Process process(study.words({"--pairs", "4"}),
                  {{"ASSAY_FAKE", "sleep=0.001"}, {"ASSAY_PIDS", pids}});
  ASSERT_TRUE(process.wait_for_error_text("pair 1 "));
  process.signal(SIGINT);
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.status, 130);
  EXPECT_THAT(outcome.err, HasSubstr("stopping; finished units are kept"));
  EXPECT_THAT(outcome.out, HasSubstr("interrupted; the same command continues it"));
  for (const Json& unit : study.units()) EXPECT_EQ(unit["complete"], true);
  EXPECT_FALSE(any_runs(pids));
  EXPECT_EQ(study.run({"--pairs", "4"}, {{"ASSAY_PIDS", pids}}).status, 0);
  EXPECT_EQ(study.complete().size(), 12u);
}

/// An engine's advice comes after the cause, and so do banners after assay's own error.
TEST(CampaignCommand, AFailedUnitTellsItsCause) {
  const Study study(
      head() +
      "environments:\n  - {name: a, kind: host}\n"
      "  - {name: b, kind: command, prefix: " +
      after_look("echo \"docker: no such image.\" >&2; echo \"See docker run --help.\" >&2; exit "
                 "125") +
      "}\n  - {name: c, kind: command, prefix: " +
      after_look("\"$0\" run quick --device none; s=$?; echo logged out >&2; exit $s") + "}\n");
  const Outcome outcome = study.run({"--pairs", "2"});
  EXPECT_THAT(
      outcome.err,
      HasSubstr("b: attempt 2 failed: it exited with status 125: docker: no such image.\n"));
  EXPECT_THAT(outcome.err, HasSubstr("c: attempt 2 failed: it exited with status 2: assay: device "
                                     "\"none\": no backend"));
}

TEST(CampaignCommand, ACellThatFailsTwiceLeavesTheOthersOfItsUnit) {
  const std::string metrics = "metrics: [{name: m, regex: 'm (\\S+)', unit: s, better: lower}]}\n";
  const Study study(
      "name: n\nsuite: s.yaml\ndevice: fake\ncontrol: off\n"
      "environments:\n  - {name: a, kind: host}\n  - {name: b, kind: command, prefix: [env]}\n");
  study.folder().write("s.yaml",
                       "name: s\ndescription: d\ncells:\n"
                       "  - {command: [echo, m 2], name: good, " +
                           metrics + "  - {command: [false], name: bad, " + metrics);
  const Outcome outcome = study.run({"--pairs", "2"});
  EXPECT_EQ(study.units().size(), 8u);
  EXPECT_EQ(study.complete().size(), 4u) << outcome.err;
  for (const Json& unit : study.units()) {
    EXPECT_EQ(unit["complete"], unit["attempt"] == 2);
    EXPECT_THAT(unit["reason"].get<std::string>(),
                testing::MatchesRegex("a cell ended in an error: bad.*: .+"));
  }
}

TEST(CampaignCommand, ALoadIsACell) {
  const Study study(
      "name: n\nsuite: s.yaml\ndevice: fake\ncontrol: off\n"
      "environments:\n  - {name: a, kind: host}\n  - {name: b, kind: command, prefix: [env]}\n");
  study.folder().write("s.yaml",
                       std::string("name: s\ndescription: d\ncells:\n"
                                   "  - command: [assay, load, --json, --out, '-', --spawn, '") +
                           ASSAY_BINARY +
                           " serve-sim --port {port} --ttft 1s --itl 1ms',\n"
                           "              --max-concurrency, '1,2', --requests, '2', "
                           "--output-tokens, '4', --input, '8']\n"
                           "    name: chat\n    format: assay\n");
  const Outcome outcome = study.run({"--pairs", "2"});
  EXPECT_EQ(study.complete().size(), 4u) << outcome.err;
  for (const char* environment : {"a", "b"}) {
    const auto records = json_lines(Process::read(study.out() / environment / "records.jsonl"));
    ASSERT_EQ(records.size(), 4u);
    EXPECT_EQ(records[1]["axes"]["max_concurrency"], "2");
    EXPECT_EQ(records[1]["axes"]["command"], "chat");
    EXPECT_NE(records[1]["fingerprint"], "");  // that of the unit
  }
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("mean_ttft"), Not(HasSubstr("median_ttft"))));
}

/// Its server's program is there at the first look and ends as soon as it is started.
TEST(CampaignCommand, WhyNoCellOfAUnitRanIsSaid) {
  const Study study(
      "name: n\ndevice: fake\ncontrol: off\nload: {max-concurrency: 1, requests: 2}\n"
      "environments:\n  - {name: a, kind: host, spawn: 'false {port}'}\n"
      "  - {name: b, kind: host, spawn: 'false {port}'}\n");
  const Outcome outcome = study.run({"--pairs", "2"});
  EXPECT_THAT(outcome.err, HasSubstr("a: attempt 1 failed: it exited with status 4: "));
  EXPECT_THAT(outcome.err, HasSubstr("server 0 ended with status 1"));
}

TEST(CampaignCommand, ALoadOfThePlanHasServersOfEachEnvironment) {
  const std::string spawn =
      std::string("'") + ASSAY_BINARY + " serve-sim --port {port} --ttft $TTFT --itl 1ms'";
  const Study study(
      "name: n\ndevice: fake\ncontrol: off\n"
      "load: {max-concurrency: [1, 2], requests: 2, output-tokens: 4, input: 8, repeat: 2}\n"
      "environments:\n  - {name: a, kind: host, variables: {TTFT: 100ms}, spawn: " +
      spawn +
      "}\n  - {name: b, kind: command, prefix: [env], variables: {TTFT: 400ms}, servers: 2,\n"
      "     spawn: " +
      spawn + "}\n");
  const Outcome outcome = study.run({"--pairs", "2"});
  EXPECT_EQ(study.complete().size(), 4u) << outcome.err;
  std::map<std::string, std::set<std::string>> prompts;  // by environment
  for (const auto& [environment, servers, least] :
       {std::tuple("a", "1", 0.1), std::tuple("b", "2", 0.4)}) {
    const auto records = json_lines(Process::read(study.out() / environment / "records.jsonl"));
    ASSERT_EQ(records.size(), 4u);
    for (const Json& record : records) {
      EXPECT_EQ(record["axes"]["command"], "load");
      EXPECT_EQ(record["notes"]["servers"], servers);
      EXPECT_EQ(record["notes"]["passes"], "2");
      EXPECT_EQ(record["device"]["emulated"], true);
      for (const Json& metric : record["metrics"]) {
        if (metric["name"] == "mean_ttft") EXPECT_GE(metric["value"].get<double>(), least);
      }
      prompts[environment].insert(record["notes"]["prompts"].get<std::string>());
    }
  }
  EXPECT_EQ(prompts["a"].size(), 4u);  // each point of each pair has its own
  EXPECT_EQ(prompts["a"], prompts["b"]);
  EXPECT_THAT(outcome.out, HasSubstr("mean_ttft"));
  EXPECT_THAT(outcome.out, HasSubstr("From a model, not measured"));
}

TEST(RunCommand, WithoutAStoreTheEnvironmentComesFirst) {
  Process process({"run", "memory", "op=copy", "dtype=f64", "size=1MiB", "cache=hot", "--device",
                   "fake", "--out", "-"});
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  const auto lines = json_lines(outcome.out);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0]["id"], lines[1]["fingerprint"]);
  EXPECT_TRUE(lines[0]["fingerprint"].is_object());
  EXPECT_FALSE(std::filesystem::exists(process.folder() / "-"));
  const Outcome other = assay_run({"run", "memory", "op=copy", "dtype=f64", "size=1MiB",
                                   "cache=hot", "--device", "fake", "--out", "-"},
                                  {{"PMI_RANK", "1"}});
  EXPECT_EQ(other.status, 0) << other.err;
  EXPECT_EQ(other.out, "");
}

TEST(RunCommand, AnotherProgramIsACellLikeAnyOther) {
  const TemporaryFolder folder;
  const std::string suite = folder.write(
      "s.yaml",
      "name: s\ndescription: d\ncells:\n"
      "  - command: [sh, -c, 'sleep 0.3; echo bw 12.5 GB/s']\n    name: probe\n"
      "    metrics: [{name: busbw, regex: 'bw (\\S+)', unit: GB/s, better: higher}]\n"
      "  - command: [sh, -c, 'echo out of memory >&2; exit 3']\n    name: broken\n"
      "    metrics: [{name: busbw, regex: 'bw (\\S+)', unit: GB/s, better: higher}]\n");
  const Outcome outcome =
      assay_run({"run", suite, "--device", "fake", "--json", "--telemetry", "20"});
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  const auto lines = json_lines(outcome.out);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0]["status"], "passed");
  EXPECT_EQ(lines[0]["benchmark"], "probe");
  EXPECT_EQ(lines[0]["metrics"][0]["value"], 12.5e9);
  EXPECT_TRUE(lines[0].contains("telemetry"));
  EXPECT_EQ(lines[1]["status"], "error");
  EXPECT_EQ(lines[1]["reason"], "sh ended with 3: out of memory");
}

}  // namespace
}  // namespace assay

// assay baseline and assay history as programs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json.h"
#include "e2e/process.h"
#include "support/accepted_runs.h"
#include "support/unprivileged.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class OverTime : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.path() / name; }

  void store(const std::string& name, int from, int to, double factor,
             const std::string& governor = "performance") {
    auto target = Store::open(path(name));
    ASSERT_TRUE(target.ok());
    const std::string id = *target->append_fingerprint(fingerprint_of("node7", governor));
    std::vector<Record> records;
    for (int i = from; i < to; ++i) {
      for (const char* op : {"copy", "triad"}) {
        records.push_back(sound_record(i, factor * usual(i), op));
        records.back().fingerprint = id;
      }
    }
    ASSERT_TRUE(target->append(records).ok());
  }
  Outcome history(std::vector<std::string> words) {
    words.insert(words.begin(), "history");
    words.insert(words.end(), {"--database", path("history.sqlite")});
    return assay_run(words);
  }

  TemporaryFolder folder_;
};

TEST_F(OverTime, ABaselineIsMadeShownAndComparedWith) {
  store("good", 0, 8, 1);
  store("slow", 10, 18, 0.9);
  const Outcome dry = assay_run({"baseline", path("good"), "--dry-run"});
  EXPECT_EQ(dry.status, 0) << dry.err;
  EXPECT_THAT(dry.out, AllOf(StartsWith("accepted: 8 runs, 2 series\n  all cells: memory\n"),
                             HasSubstr("  op=copy   bandwidth     8  ")));
  const Outcome made = assay_run({"baseline", path("good"), "-o", path("b"), "--json"});
  EXPECT_EQ(made.status, 0) << made.err;
  const Json json = Json::parse(made.out, nullptr, false);
  EXPECT_EQ(json["runs"], 8);
  EXPECT_EQ(json["series"][1]["cell"], "memory op=triad");
  const Outcome slower = assay_run({"compare", path("b"), path("slow")});
  EXPECT_EQ(slower.status, 1) << slower.err;
  EXPECT_THAT(slower.out, AllOf(HasSubstr("SLOWER: B is slower than A"), HasSubstr("UNPAIRED")));
  // Identical results would be EQUAL if they had been measured in turns.
  const Outcome same = assay_run({"compare", path("good"), path("b")});
  EXPECT_EQ(same.status, 6) << same.err;
  EXPECT_THAT(same.out, AllOf(HasSubstr("INCONCLUSIVE"), HasSubstr("UNPAIRED"),
                              HasSubstr("nothing can be EQUAL")));
}

/// A first add that was killed, or had nothing to add, leaves it like this.
TEST_F(OverTime, AnEmptyHistorySaysThatItIsEmpty) {
  folder_.write("junk/records.jsonl", "{}\n");
  history({"add", path("junk")});
  const Outcome empty = history({});
  EXPECT_EQ(empty.status, 2);
  EXPECT_THAT(empty.err, HasSubstr("history.sqlite holds no results; fill it: assay history add"));
  EXPECT_THAT(history({"memory"}).err, HasSubstr("holds no results"));
  store("good", 0, 8, 1);
  history({"add", path("good")});
  EXPECT_THAT(history({"gemm"}).err, HasSubstr("has no series of that kind"));
}

TEST_F(OverTime, WhatABaselineCannotBe) {
  store("few", 0, 5, 1);
  store("good", 0, 8, 1);
  const Outcome few = assay_run({"baseline", path("few"), "-o", path("b")});
  EXPECT_EQ(few.status, 2);
  EXPECT_THAT(few.err, HasSubstr("no cell has the 6 sound runs"));
  EXPECT_FALSE(std::filesystem::exists(path("b")));
  EXPECT_EQ(assay_run({"baseline", path("good")}).status, 2) << "without -o";
  const Outcome nowhere = assay_run({"baseline", path("good"), "-o", path("none/b")});
  EXPECT_EQ(nowhere.status, 5);
  EXPECT_EQ(nowhere.err,
            "assay: " + path("none/b") + " cannot be written: No such file or directory\n");
  std::filesystem::create_symlink("/dev/full", path("full"));
  const Outcome full = assay_run({"baseline", path("good"), "-o", path("full")});
  EXPECT_EQ(full.status, 5);
  EXPECT_EQ(full.err, "assay: " + path("full") + " cannot be written: No space left on device\n");
  folder_.write("cut", "{\"assay_baseline\":1,\"units\":[");
  const Outcome cut = assay_run({"compare", path("cut"), path("good")});
  EXPECT_EQ(cut.status, 2);
  EXPECT_THAT(cut.err, HasSubstr("cut is not a usable baseline: "));
}

TEST_F(OverTime, AHistoryShowsWhatChangedAndSaysSoByItsStatus) {
  store("before", 0, 15, 1);
  const Outcome added = history({"add", path("before")});
  EXPECT_EQ(added.status, 0) << added.err;
  EXPECT_EQ(added.out, path("before") + ": 30 values added, 0 were already there\n");
  EXPECT_EQ(history({"add", path("before")}).out,
            path("before") + ": 0 values added, 30 were already there\n");
  const Outcome quiet = history({});
  EXPECT_EQ(quiet.status, 0) << quiet.err;
  EXPECT_THAT(quiet.out, HasSubstr("2 series; the latest change of 0 is for the worse"));
  store("after", 15, 30, 0.95, "powersave");
  EXPECT_EQ(history({"add", path("after")}).status, 0);
  const Outcome worse = history({});
  EXPECT_EQ(worse.status, 1) << worse.err;
  EXPECT_THAT(worse.out,
              AllOf(HasSubstr("2026-01-16T12:00:00.000Z run run015 after run014 on node7: "),
                    HasSubstr("+5.25% slower"), HasSubstr("sure"), HasSubstr("cpu.governor"),
                    HasSubstr("powersave")));
  EXPECT_EQ(history({"memory", "op=copy"}).status, 1);
  EXPECT_EQ(history({"--since", "2026-02"}).status, 0);
  EXPECT_EQ(history({"--magnitude", "10%"}).status, 0);
  EXPECT_EQ(history({"gemm"}).status, 2);
  const Json json = Json::parse(history({"op=triad", "--json"}).out, nullptr, false);
  ASSERT_EQ(json["series"].size(), 1u);
  const Json& series = json["series"][0];
  EXPECT_EQ(series["runs"], 30);
  EXPECT_EQ(series["worse"], true);
  EXPECT_EQ(series["changes"][0]["run"], "run015");
  EXPECT_EQ(series["changes"][0]["differences"][0]["path"], "cpu.governor");
}

TEST_F(OverTime, OptionsOfHistoryAreChecked) {
  store("good", 0, 2, 1);
  ASSERT_EQ(history({"add", path("good")}).status, 0);
  for (const auto& [words, message] : std::vector<std::pair<std::vector<std::string>, const char*>>{
           {{"--since", "yesterday"},
            "--since \"yesterday\" is not a date; write it as 2026-01-31"},
           {{"--window", "5"}, "--window \"5\" is not allowed; allowed: 10 to 1000"},
           {{"--p", "0.5"}, "--p \"0.5\" is not allowed; allowed: 1e-07% to 5%"},
           {{"--magnitude", "-1%"}, "--magnitude \"-1%\" is not allowed; allowed: 0% to 50%"},
           {{"memory", "copy"}, "two benchmarks given: memory and copy"},
           {{"add"}, "usage: assay history add STORE..."}}) {
    const Outcome outcome = history(words);
    EXPECT_EQ(outcome.status, 2) << message;
    EXPECT_EQ(outcome.err, std::string("assay: ") + message + "\n");
  }
}

TEST_F(OverTime, TheHistoryIsKeptInTheUsersDataFolder) {
  store("good", 0, 2, 1);
  for (const auto& [variable, below] :
       {std::pair<const char*, const char*>{"XDG_DATA_HOME", ""}, {"HOME", ".local/share/"}}) {
    const std::string home = path(variable);
    EXPECT_EQ(assay_run({"history", "add", path("good")}, {{variable, home}}).status, 0);
    EXPECT_TRUE(std::filesystem::exists(home + "/" + below + "assay/history.sqlite")) << variable;
  }
}

TEST_F(OverTime, FilesThatAreNoHistoryAreRefusedInOneLine) {
  store("good", 0, 2, 1);
  folder_.write("history.sqlite",
                "rubbish, and enough of it to be more than a header: " + std::string(200, '.'));
  for (const auto& words : {std::vector<std::string>{}, {"add", path("good")}}) {
    const Outcome outcome = history(words);
    EXPECT_EQ(outcome.status, 2);
    EXPECT_THAT(outcome.err, AllOf(HasSubstr("history.sqlite is damaged or has other tables"),
                                   testing::EndsWith("add the stores again\n")));
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1);
  }
  const Outcome nowhere =
      assay_run({"history", "add", path("good"), "--database", "/proc/assay/history.sqlite"});
  EXPECT_EQ(nowhere.status, 5);
  EXPECT_THAT(nowhere.err, HasSubstr("cannot create the folder /proc/assay"));
}

TEST_F(OverTime, FoldersThatCannotBeWrittenAreNamed) {
  const Unprivileged user(folder_.path());
  if (!user.problem().empty()) GTEST_SKIP() << user.problem();
  store("good", 0, 8, 1);
  const std::string closed = path("closed"), database = closed + "/history.sqlite";
  std::filesystem::create_directory(closed);
  EXPECT_EQ(assay_run({"history", "add", path("good"), "--database", database}).status, 0);
  using std::filesystem::perms;
  std::filesystem::permissions(closed, perms::owner_read | perms::owner_exec);
  const Outcome baseline = assay_run({"baseline", path("good"), "-o", closed + "/b"});
  EXPECT_EQ(baseline.status, 5);
  EXPECT_EQ(baseline.err, "assay: " + closed + "/b cannot be written: Permission denied\n");
  store("more", 10, 12, 1);
  for (const std::string& file : {database, closed + "/new.sqlite"}) {
    const Outcome outcome = assay_run({"history", "add", path("more"), "--database", file});
    EXPECT_EQ(outcome.status, 5);
    EXPECT_THAT(outcome.err, StartsWith("assay: " + file + " cannot be read or written: "));
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1);
  }
  EXPECT_EQ(assay_run({"history", "--database", database}).status, 0) << "reading needs no right";
  std::filesystem::permissions(closed, perms::owner_all);
}

TEST_F(OverTime, ProcessesMayMakeTheHistoryAtOnce) {
  store("good", 0, 3, 1);
  for (int round = 0; round < 5; ++round) {
    const std::string file = path("round" + std::to_string(round));
    std::vector<std::unique_ptr<Process>> processes;
    for (int i = 0; i < 8; ++i) {
      processes.push_back(std::make_unique<Process>(
          std::vector<std::string>{"history", "add", path("good"), "--database", file}));
    }
    for (auto& process : processes) {
      const Outcome outcome = process->wait();
      EXPECT_EQ(outcome.status, 0) << outcome.err;
    }
  }
}

TEST_F(OverTime, ProcessesMayAddAtOnceAndDieAtAnyMoment) {
  constexpr int stores = 4, runs = 200;
  for (int i = 0; i < stores; ++i) {
    store("store" + std::to_string(i), i * runs, (i + 1) * runs, 1);
  }
  const auto words = [&](int i) {
    return std::vector<std::string>{"history", "add", path("store" + std::to_string(i)),
                                    "--database", path("history.sqlite")};
  };
  for (int delay = 1; delay <= 20;
       ++delay) {  // in steps of 5 ms; reading and writing take about 50 ms
    Process process(words(0));
    std::this_thread::sleep_for(std::chrono::milliseconds(5 * delay));
    process.signal(delay % 2 == 0 ? SIGINT : SIGKILL);
    process.wait();
  }
  std::vector<std::unique_ptr<Process>> processes;
  for (int i = 0; i < stores; ++i) processes.push_back(std::make_unique<Process>(words(i)));
  for (auto& process : processes) {
    const Outcome outcome = process->wait();
    EXPECT_EQ(outcome.status, 0) << outcome.err;
  }
  const Json json = Json::parse(history({"op=copy", "--json"}).out, nullptr, false);
  ASSERT_EQ(json["series"].size(), 1u);
  EXPECT_EQ(json["series"][0]["runs"], stores * runs);
}

}  // namespace
}  // namespace assay

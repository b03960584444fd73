// Ranks as real processes: they measure together, a rank that is killed, stopped or late is named,
// and no process outlives its deadline.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "e2e/json_lines.h"
#include "e2e/process.h"
#include "e2e/rank_process.h"
#include "support/held_port.h"

namespace assay {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Clock = std::chrono::steady_clock;

constexpr const char* team_secret = "a secret of these tests";

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

std::vector<std::string> all_reduce(const std::string& size, std::vector<std::string> more) {
  std::vector<std::string> words = {"run",       "collective", "op=all_reduce", "dtype=f32",
                                    "redop=sum", "place=out",  "library=tcp",   "size=" + size,
                                    "--device",  "fake",       "--telemetry",   "off",
                                    "--json"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

/// The records on standard output.
std::vector<Json> records(const Outcome& outcome) {
  std::vector<Json> found;
  for (Json& json : json_lines(outcome.out)) {
    if (json.contains("status")) found.push_back(std::move(json));
  }
  return found;
}

TEST(Ranks, MeasureTogetherAndEachIsInTheRecord) {
  const Outcome outcome = assay_run(all_reduce("4KiB,1MiB", {"--ranks", "3", "--budget", "20s"}));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  const auto found = records(outcome);
  ASSERT_EQ(found.size(), 2u) << outcome.err;
  for (const Json& record : found) {
    EXPECT_EQ(record["status"], "passed") << record["reason"];
    EXPECT_EQ(record["axes"]["ranks"], "3");
    EXPECT_THAT(record["verification"]["method"].get<std::string>(), HasSubstr("bit for bit"));
    ASSERT_EQ(record["ranks"].size(), 3u);
    double slowest = 0;
    for (int rank = 0; rank < 3; ++rank) {
      EXPECT_EQ(record["ranks"][rank]["rank"], rank);
      EXPECT_EQ(record["ranks"][rank]["device"], "fake:0");
      slowest = std::max(slowest, record["ranks"][rank]["seconds"].get<double>());
    }
    // A sample is the time of its slowest rank, so the median is at least that of every rank.
    EXPECT_GE(record["seconds"]["median"].get<double>(), slowest);
    EXPECT_TRUE(record["notes"].contains("rank_seconds"));
  }
}

TEST(Ranks, ALateOneIsNamed) {
  const Outcome outcome = assay_run(all_reduce("4KiB", {"--ranks", "3", "--budget", "4s"}),
                                    {{"ASSAY_FAKE", "late=0.1,rank=2"}});
  const auto found = records(outcome);
  ASSERT_EQ(found.size(), 1u) << outcome.err;
  const std::string note = found[0]["notes"].value("late_rank", "");
  double milliseconds = 0;
  std::sscanf(note.c_str(), "rank 2 on %*[^:]: the others wait %lf ms", &milliseconds);
  EXPECT_GT(milliseconds, 50) << note << found[0]["ranks"].dump();  // more on a busy machine
}

TEST(Ranks, AKilledOneIsNamedAndStoredRecordsStay) {
  Process process(all_reduce("4KiB..64KiB*2", {"--ranks", "3", "--out", "results"}));
  ASSERT_TRUE(process.wait_for_error_text("[1/5]"));
  const pid_t rank = process_of_rank(process, 2);
  ASSERT_GT(rank, 0);
  ::kill(rank, SIGKILL);
  const auto begin = Clock::now();
  const Outcome outcome = process.wait();
  EXPECT_LT(seconds_since(begin), 60);  // waiting for a silent rank takes two minutes
  EXPECT_NE(outcome.status, 0);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("rank 2 on "), HasSubstr("ended unexpectedly"),
                                 HasSubstr("ended by signal 9")));
  EXPECT_FALSE(Process::read(process.folder() / "results" / "records.jsonl").empty());
}

TEST(Ranks, AStoppedOneIsNamedWithinItsPatience) {
  Process process(all_reduce("4KiB..64KiB*2", {"--ranks", "3", "--patience", "12s"}));
  ASSERT_TRUE(process.wait_for_error_text("[1/5]"));
  const pid_t rank = process_of_rank(process, 1);
  ASSERT_GT(rank, 0);
  ::kill(rank, SIGSTOP);
  const auto begin = Clock::now();
  const Outcome outcome = process.wait();
  EXPECT_LT(seconds_since(begin), 100);  // without --patience it takes two minutes
  EXPECT_NE(outcome.status, 0);
  EXPECT_THAT(outcome.err, HasSubstr("rank 1 on "));
  EXPECT_NE(::kill(rank, 0), 0) << "the stopped rank outlived the run";
}

/// In the middle of a step, whatever it waits for there.
TEST(Ranks, OnesLostInTrainingAreNamed) {
  for (const auto& [parallel, signal] :
       {std::pair("ddp", SIGKILL), {"zero1", SIGKILL}, {"fsdp", SIGKILL}, {"fsdp", SIGSTOP}}) {
    // A rank that has ended is missed at once, one that is silent after --patience; on a busy
    // machine ranks take seconds to meet.
    const char* patience = signal == SIGSTOP ? "12s" : "60s";
    Process process({"run", "train", "--device", "cpu", "--telemetry", "off", "--ranks", "3",
                     "--patience", patience, "--out", "results", "model=2L2H64C64V", "batch=2",
                     "sequence=16", std::string("parallel=") + parallel, "steps=9,1000000"});
    ASSERT_TRUE(process.wait_for_error_text("[1/2]")) << parallel << process.error_text();
    const pid_t rank = process_of_rank(process, 2);
    ASSERT_GT(rank, 0);
    ::kill(rank, signal);
    const auto begin = Clock::now();
    const Outcome outcome = process.wait();
    EXPECT_LT(seconds_since(begin), 100) << parallel;
    EXPECT_NE(outcome.status, 0) << parallel;
    EXPECT_THAT(outcome.err, HasSubstr("rank 2 on ")) << parallel;
    EXPECT_NE(::kill(rank, 0), 0) << parallel << ": the rank outlived the run";
    EXPECT_FALSE(Process::read(process.folder() / "results" / "records.jsonl").empty());
  }
}

TEST(Ranks, InterruptEndsAllOfThem) {
  Process process(all_reduce("4KiB..1MiB*2", {"--ranks", "2"}));
  ASSERT_TRUE(process.wait_for_error_text("[1/9]"));
  const pid_t rank = process_of_rank(process, 1);
  process.signal(SIGINT);
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.status, 130);
  EXPECT_THAT(outcome.err, HasSubstr("not measured"));
  EXPECT_NE(::kill(rank, 0), 0);
}

/// Whichever rank is asked to stop, and also in the last cell.
TEST(Ranks, ASignalToOneOfThemIsAnInterruptOfAll) {
  for (const int number : {SIGTERM, SIGHUP}) {
    Process process({"run", "train", "model=1L2H64C97V", "batch=2", "sequence=16", "steps=1000000",
                     "--device", "cpu", "--ranks", "2", "--out", "results"});
    ASSERT_TRUE(process.wait_for_error_text("train: 1 cell"));
    const pid_t rank = process_of_rank(process, 1);
    ASSERT_GT(rank, 0);
    ::kill(rank, number);
    const Outcome outcome = process.wait();
    EXPECT_EQ(outcome.status, 130) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("; stopped, "));
  }
}

TEST(Ranks, MessagesBetweenTwoOverEveryTransport) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"rdma", "op=write,read,send", "direction=one", "metric=all",
                                 "transport=tcp", "size=64KiB"},
        {"mpi", "library=tcp", "memory=host", "metric=all", "direction=one", "size=64KiB"}}) {
    std::vector<std::string> all = {"run"};
    all.insert(all.end(), words.begin(), words.end());
    all.insert(all.end(), {"--device", "fake", "--ranks", "3", "--budget", "40s", "--json"});
    const Outcome outcome = assay_run(all);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    const auto found = records(outcome);
    EXPECT_EQ(found.size(), words[0] == "rdma" ? 6u : 2u) << outcome.err;
    for (const Json& record : found) {
      EXPECT_EQ(record["status"], "passed") << record.dump();
      EXPECT_FALSE(record["ranks"][2].contains("seconds"));  // it took no part
    }
  }
}

TEST(Ranks, RunsAreRepeatedAndTheirDeviationShown) {
  std::vector<std::string> words =
      all_reduce("4KiB,64KiB", {"--ranks", "2", "--repeat", "3", "--budget", "1s"});
  words.erase(std::find(words.begin(), words.end(), "--json"));
  const Outcome outcome = assay_run(words);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("run 3 of 3"));
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("deviation"), HasSubstr("size=4KiB"), HasSubstr("%")));
  EXPECT_THAT(assay_run(all_reduce("4KiB", {"--repeat", "0"})).err,
              HasSubstr("--repeat \"0\" is not allowed; allowed: 1 to 1000"));
}

TEST(Ranks, AMissingRankIsNamed) {
  // Rank 0 listens, and no other rank connects.
  const HeldPort port;
  const auto begin = Clock::now();
  const Outcome outcome =
      assay_run(all_reduce("4KiB", {"--patience", "2s"}),
                {{"ASSAY_RANK", "0"},
                 {"ASSAY_RANKS", "2"},
                 {"ASSAY_ADDRESS", "127.0.0.1:" + std::to_string(port.number())},
                 {"ASSAY_TOKEN", team_secret}});
  EXPECT_LT(seconds_since(begin), 30);  // without --patience it takes a minute
  EXPECT_NE(outcome.status, 0);
  EXPECT_THAT(outcome.err, HasSubstr("1 of 2 ranks connected within 2 s; missing: rank 1"));
}

TEST(Ranks, TheyMeetByTorchrunsVariables) {
  const HeldPort port;  // for assay's ranks, which use the port after torchrun's
  const auto variables = [&](int rank) -> Process::Environment {
    return {{"RANK", std::to_string(rank)},
            {"WORLD_SIZE", "2"},
            {"LOCAL_RANK", std::to_string(rank)},
            {"MASTER_ADDR", "127.0.0.1"},
            {"MASTER_PORT", std::to_string(port.number() - 1)},
            {"ASSAY_TOKEN", team_secret}};
  };
  Process other(all_reduce("4KiB", {}), variables(1));
  const Outcome first = assay_run(all_reduce("4KiB", {"--budget", "3s"}), variables(0));
  EXPECT_EQ(first.status, 0) << first.err;
  EXPECT_EQ(records(first).size(), 1u);
  const Outcome second = other.wait();
  EXPECT_EQ(second.status, 0) << second.err;
  EXPECT_EQ(second.out, "");  // only rank 0 prints
}

TEST(Ranks, WhatMakesNoSenseIsRefused) {
  const auto complaint = [](std::vector<std::string> words) {
    const Outcome outcome = assay_run(words);
    EXPECT_EQ(outcome.status, 2) << outcome.err;
    return outcome.err;
  };
  EXPECT_THAT(complaint(all_reduce("4KiB", {"--ranks", "0"})),
              HasSubstr("--ranks \"0\" is not allowed; allowed: 1 to 4096"));
  EXPECT_THAT(complaint(all_reduce("4KiB", {"--hosts", "a:0"})), HasSubstr("--hosts: \"a:0\""));
  EXPECT_THAT(complaint(all_reduce("4KiB", {"--ranks", "2", "--hosts", "a,b"})),
              HasSubstr("leave out --ranks"));
  EXPECT_THAT(complaint({"run", "memory", "--ranks", "2", "--device", "fake"}),
              HasSubstr("no benchmark for several ranks"));
}

TEST(Ranks, OneAloneIsToldToBringOthers) {
  const Outcome outcome = assay_run(all_reduce("4KiB", {}));
  const auto found = records(outcome);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0]["status"], "unsupported");
  EXPECT_THAT(found[0]["reason"].get<std::string>(), HasSubstr("--ranks"));
}

}  // namespace
}  // namespace assay

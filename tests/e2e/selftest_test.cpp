// The self-test as a program, on the scripted device and on CPUs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json.h"
#include "e2e/process.h"
#include "e2e/virtual_mi300x.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

Outcome selftest(std::vector<std::string> words, Process::Environment environment = {}) {
  words.insert(words.begin(), "selftest");
  return Process(words, std::move(environment)).wait();
}

/// The outcome of each check, by name.
std::map<std::string, std::string> outcomes_in(const std::string& text) {
  std::map<std::string, std::string> outcomes;
  const Json report = Json::parse(text, nullptr, false);
  if (!report.is_object()) {
    ADD_FAILURE() << text;
    return outcomes;
  }
  for (const Json& check : report["checks"]) outcomes[check["check"]] = check["outcome"];
  return outcomes;
}

TEST(Selftest, SaysOneLineACheckAndWritesAReport) {
  const TemporaryFolder folder;
  const std::string file = folder.path() / "report.json";
  const Outcome outcome =
      selftest({"--device", "cpu", "--only", "copies,sensors", "--output", file});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, ContainsRegex("passed +copies +copies arrive whole"));
  EXPECT_THAT(outcome.out, ContainsRegex("untested +sensors +the check is about GPUs"));
  EXPECT_THAT(outcome.out, HasSubstr("1 passed, 0 wrong, 1 could not be tested on this machine"));
  const Outcome explained = selftest({"--explain", file});
  EXPECT_EQ(explained.status, 0) << explained.err;
  EXPECT_THAT(explained.out, AllOf(HasSubstr("1 passed"), HasSubstr("open Do aligned 8-byte")));
}

TEST(Selftest, OnlyWhatCouldBeTestedCounts) {
  EXPECT_EQ(selftest({"--device", "cpu", "--only", "sensors"}).status, 4);
  const Outcome none = selftest({"--device", "cuda:77", "--only", "copies"});
  EXPECT_EQ(none.status, 4) << none.out;
  EXPECT_THAT(none.out, ContainsRegex("untested +copies +no device could be opened: .*cuda"));
}

TEST(Selftest, JsonIsOneDocument) {
  const Outcome outcome = selftest({"--device", "cpu", "--only", "copies,pinned-memory", "--json"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  const auto outcomes = outcomes_in(outcome.out);
  EXPECT_EQ(outcomes.size(), 2u);
  EXPECT_EQ(outcomes.at("copies"), "passed");
}

TEST(Selftest, AKernelThatComputesWronglyCostsItsLineAlone) {
  const Outcome outcome =
      selftest({"--device", "fake", "--only", "memory-kernels,decoder-bf16,copies", "--json"},
               {{"ASSAY_FAKE", "corrupt=1"}});
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  const auto outcomes = outcomes_in(outcome.out);
  EXPECT_EQ(outcomes.at("memory-kernels"), "wrong");
  EXPECT_EQ(outcomes.at("decoder-bf16"), "wrong");
  EXPECT_EQ(outcomes.at("copies"), "passed");
}

TEST(Selftest, ALibraryThatCrashesOrHangsCostsItsLineAlone) {
  for (const auto& [kind, expected] :
       {std::pair<std::string, std::string>{"crashes_at_load", "crashed"},
        {"hangs_at_load", "timed out"}}) {
    const Outcome outcome = selftest(
        {"--device", "cpu", "--only", "train-perceptron,copies", "--json", "--patience", "5s"},
        {{"ASSAY_ONEDNN_LIBRARY", std::string(BAD_LIBRARIES) + "/" + kind}});
    EXPECT_EQ(outcome.status, 1) << outcome.err;
    const auto outcomes = outcomes_in(outcome.out);
    EXPECT_EQ(outcomes.at("train-perceptron"), expected) << kind << outcome.out;
    EXPECT_EQ(outcomes.at("copies"), "passed") << kind;
    EXPECT_THAT(outcome.out, Not(HasSubstr(BAD_LIBRARIES))) << "a path in the report";
  }
}

TEST(Selftest, CtrlCKeepsWhatWasFound) {
  const TemporaryFolder folder;
  const std::string file = folder.path() / "report.json";
  const std::string out = folder.path() / "out";
  Process process({"selftest", "--device", "cpu", "--only", "copies,train-perceptron,atomics",
                   "--output", file},
                  {{"ASSAY_ONEDNN_LIBRARY", std::string(BAD_LIBRARIES) + "/hangs_at_load"}}, out);
  for (int i = 0; i < 6000 && Process::read(out).find("copies") == std::string::npos; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  process.signal(SIGINT);
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.status, 130) << outcome.err;
  const Outcome explained = selftest({"--explain", file, "--json"});
  const auto outcomes = outcomes_in(explained.out);
  EXPECT_EQ(outcomes.at("copies"), "passed");
  EXPECT_EQ(outcomes.at("train-perceptron"), "stopped");
  EXPECT_EQ(outcomes.at("atomics"), "stopped");
}

TEST(Selftest, WhatCannotBeReadOrWrittenIsSaidFirst) {
  const Outcome nowhere = selftest({"--only", "copies", "--output", "/nowhere/report.json"});
  EXPECT_NE(nowhere.status, 0);
  EXPECT_THAT(nowhere.out, Not(HasSubstr("copies")));
  EXPECT_EQ(selftest({"--only", "nothing"}).status, 2);
  const TemporaryFolder folder;
  const std::string file = folder.path() / "torn.json";
  std::ofstream(file) << "{\"selftest\": 1, \"checks\": [";
  const Outcome torn = selftest({"--explain", file});
  EXPECT_EQ(torn.status, 2);
  EXPECT_THAT(torn.err, HasSubstr("torn.json"));
}

TEST(Selftest, ListNamesEveryCheck) {
  const Outcome outcome = selftest({"--list"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.out, ContainsRegex("whole-words-between-devices +hardware +aligned"));
}

class SelftestOnVirtualMi300x : public OnVirtualMi300x {};

TEST_F(SelftestOnVirtualMi300x, AKernelThatHangsAndALostDeviceCostTheirLines) {
  const Outcome outcome =
      on({"selftest", "--only", "atomics,fences", "--json", "--patience", "20s"},
         {{"MI300X_FAULT", "hang:count_threads"}});
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  const auto outcomes = outcomes_in(outcome.out);
  EXPECT_EQ(outcomes.at("atomics"), "timed out") << outcome.out;
  EXPECT_EQ(outcomes.at("fences"), "passed") << outcome.out;
}

TEST_F(SelftestOnVirtualMi300x, ALibraryThatLiesCostsItsLineAlone) {
  const Outcome outcome =
      on({"selftest", "--only", "products-in-graphs,tuning-of-products,copies,memory-kernels",
          "--json"},
         {{"MI300X_WRONG_PRODUCTS", "1"}});
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  const auto outcomes = outcomes_in(outcome.out);
  EXPECT_EQ(outcomes.at("products-in-graphs"), "wrong") << outcome.out;
  EXPECT_EQ(outcomes.at("tuning-of-products"), "wrong") << outcome.out;
  EXPECT_EQ(outcomes.at("copies"), "passed") << outcome.out;
  EXPECT_EQ(outcomes.at("memory-kernels"), "passed") << outcome.out;
}

/// Every question that needs two GPUs is answered between two partitions of one.
TEST_F(SelftestOnVirtualMi300x, AsksWhatOnlyHardwareCanTell) {
  const Outcome outcome = on({"selftest", "--only", "hardware,device", "--json"});
  EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  const auto outcomes = outcomes_in(outcome.out);
  for (const char* check :
       {"fences-between-devices", "fences", "atomics", "graph-nested-streams", "engine-clock"}) {
    EXPECT_EQ(outcomes.at(check), "passed") << outcome.out;
  }
  EXPECT_TRUE(Json::parse(outcome.out)["machine"]["emulated"].get<bool>());
}

// On a busy machine a writer may have ended before anybody watches; the check then proves nothing.
TEST_F(SelftestOnVirtualMi300x, WatchesWordsChangeWhole) {
  constexpr int most_tries = 10;
  for (const std::string check : {"whole-words", "whole-words-between-devices"}) {
    std::string found = "untested";
    for (int i = 0; i < most_tries && found == "untested"; ++i) {
      found = outcomes_in(on({"selftest", "--only", check, "--json"}).out).at(check);
    }
    EXPECT_EQ(found, "passed") << check;
  }
}

}  // namespace
}  // namespace assay

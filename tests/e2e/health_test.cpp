// The tests of a device's health as programs, on CPUs, with faults that they plant themselves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "core/json.h"
#include "e2e/process.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

class Health : public testing::Test {
 protected:
  Outcome health(std::vector<std::string> words, const std::string& fault = "") {
    words.insert(words.begin(), "health");
    words.insert(words.end(), {"--device", "cpu", "--duration", "0.1s", "--output", file_});
    if (!fault.empty()) words.insert(words.end(), {"--plant", fault});
    return Process(words, {{"TMPDIR", folder_.path()}, {"XDG_CACHE_HOME", folder_.path()}}).wait();
  }
  Json written() const { return Json::parse(std::ifstream(file_)); }

  const TemporaryFolder folder_;
  const std::string file_ = folder_.path() / "result.json";
};

TEST_F(Health, AMachineThatRepeatsItsResultsIsSound) {
  const std::string reference = folder_.path() / "reference.json";
  const Outcome first =
      health({"sdc", "--only", "memory op=triad", "--write-reference", reference});
  EXPECT_EQ(first.status, 0) << first.out << first.err;
  EXPECT_THAT(first.out, AllOf(HasSubstr("SOUND"), HasSubstr("memory op=triad dtype=f64"),
                               HasSubstr("would have been seen with 95%")));
  EXPECT_EQ(written()["verdict"], "SOUND");
  const Outcome second = health({"sdc", "--only", "memory op=triad", "--reference", reference});
  EXPECT_EQ(second.status, 0) << second.out << second.err;
  EXPECT_THAT(second.out, HasSubstr("repetitions, the reference"));
  // A reference with other bits is another machine's word against this one's.
  std::stringstream text;
  text << std::ifstream(reference).rdbuf();
  Json other = Json::parse(text.str());
  other["units"][0]["trail"][0] = "0x1";
  std::ofstream(reference) << other;
  const Outcome third = health({"sdc", "--only", "memory op=triad", "--reference", reference});
  EXPECT_EQ(third.status, 3) << third.out << third.err;
  EXPECT_THAT(third.out,
              AllOf(HasSubstr("CORRUPT"), HasSubstr("differs from the reference, first in "
                                                    "operation 1: triad_f64")));
  const Outcome again = health({"sdc", "--only", "memory op=triad"});
  EXPECT_EQ(again.status, 2) << again.out << again.err;
  EXPECT_THAT(again.err, HasSubstr("holds a CORRUPT result and is not replaced"));
}

TEST_F(Health, AReferenceThatKnowsNothingOfTheUnitsIsNoted) {
  const std::string reference = folder_.path() / "reference.json";
  const Outcome first =
      health({"sdc", "--only", "memory op=triad", "--write-reference", reference});
  ASSERT_EQ(first.status, 0) << first.out << first.err;
  const Json json = Json::parse(std::ifstream(reference));
  const auto with = [&](const Json& units) {
    Json changed = json;
    changed["units"] = units;
    std::ofstream(reference) << changed;
    return health({"sdc", "--only", "memory op=triad", "--reference", reference}).out;
  };
  constexpr const char* none = "no unit could be compared to the reference";
  EXPECT_THAT(with(json["units"]), Not(HasSubstr(none)));
  EXPECT_THAT(with(Json::array()), HasSubstr(none));
  Json shorter = json["units"];
  shorter[0]["operations"].erase(0);
  shorter[0]["trail"].erase(0);
  EXPECT_THAT(with(shorter),
              AllOf(HasSubstr("the reference has checksums of another number of operations"),
                    HasSubstr(none)));
}

TEST_F(Health, AnEmptyReferenceIsNoReference) {
  const std::string reference = folder_.path() / "reference.json";
  for (const char* text : {"", "[]"}) {
    std::ofstream(reference) << text;
    const Outcome outcome = health({"sdc", "--only", "memory op=triad", "--reference", reference});
    EXPECT_EQ(outcome.status, 2) << outcome.out;
    EXPECT_THAT(outcome.err, HasSubstr("--reference " + reference + ": "));
  }
}

TEST_F(Health, TheResultAndTheReferenceAreTwoFiles) {
  const Outcome outcome = health({"sdc", "--only", "memory op=triad", "--write-reference", file_});
  EXPECT_EQ(outcome.status, 2) << outcome.out;
  EXPECT_THAT(outcome.err, HasSubstr("both name " + file_));
  const std::string same = (folder_.path() / "." / "result.json").string();
  const Outcome other_name =
      health({"sdc", "--only", "memory op=triad", "--write-reference", same});
  EXPECT_EQ(other_name.status, 2) << other_name.out;
  EXPECT_THAT(other_name.err, HasSubstr("--output and --write-reference both name " + file_));
}

TEST_F(Health, AReferenceKeepsWhatWasChosenByMeasuring) {
  const std::string reference = folder_.path() / "reference.json";
  const Outcome first =
      health({"sdc", "--only", "memory op=triad", "--write-reference", reference});
  ASSERT_EQ(first.status, 0) << first.out << first.err;
  Json json = Json::parse(std::ifstream(reference));
  Json& choice = json["units"][0]["choices"][0];
  ASSERT_THAT(choice["about"].get<std::string>(), HasSubstr("memory geometry for triad"));
  // Another choice than the one in this machine's cache is taken over. CPUs have two.
  std::string other = choice["choice"];
  const std::size_t hints = other.find("hints=");
  ASSERT_NE(hints, std::string::npos) << other;
  other.replace(hints, std::string::npos,
                other.substr(hints) == "hints=none" ? "hints=stores" : "hints=none");
  choice["choice"] = other;
  std::ofstream(reference) << json;
  const Outcome taken = health({"sdc", "--only", "memory op=triad", "--reference", reference});
  EXPECT_EQ(taken.status, 0) << taken.out << taken.err;
  EXPECT_EQ(written()["units"][0]["choices"][0]["choice"], other);
  // One that this machine cannot make is named, and nothing is claimed.
  choice["choice"] = "block=7";
  std::ofstream(reference) << json;
  const Outcome unknown = health({"sdc", "--only", "memory op=triad", "--reference", reference});
  EXPECT_EQ(unknown.status, 6) << unknown.out << unknown.err;
  EXPECT_THAT(unknown.out, AllOf(HasSubstr("UNKNOWN"),
                                 HasSubstr("could not take over a choice of the reference"),
                                 HasSubstr("\"block=7\" in the reference")));
}

TEST_F(Health, AnOperationThatGivesWhatTheRunBeforeGaveIsNamed) {
  const Outcome outcome = health({"sdc", "--only", "attention"}, "attention run=1 launch=5 mask=1");
  EXPECT_EQ(outcome.status, 3) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("differs from its other repetitions, first in operation 5:"));
}

TEST_F(Health, AResultSaysWhatWasCovered) {
  const Outcome outcome =
      health({"sdc", "--only", "memory op=triad,memory_patterns", "--memory", "0.01"});
  EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  EXPECT_THAT(
      outcome.out,
      ContainsRegex("Covered: patterns in .* of memory at once .*; multiprocessors unknown; "
                    "2 units, [0-9]+ repetitions, [0-9]+ operations: .*FLOP and .*; time at "
                    "the power limit unknown"));
  const Json json = written(), &covered = json["coverage"][0];
  ASSERT_EQ(json["coverage"].size(), 1u);
  EXPECT_EQ(covered["units"], 2);
  EXPECT_GT(covered["pattern_bytes"], 0);
  EXPECT_FALSE(covered.contains("multiprocessors_seen"));
  // A repetition of the triad is one kernel, one of the patterns 15.
  const auto runs = [&](int unit) { return json["units"][unit]["runs"].get<std::uint64_t>(); };
  EXPECT_EQ(covered["runs"], runs(0) + runs(1));
  EXPECT_EQ(covered["operations"], runs(0) + 15 * runs(1));
}

TEST_F(Health, AFlippedBitIsFoundWithItsOperationAndPlace) {
  const Outcome outcome =
      health({"sdc", "--only", "memory op=triad"}, "memory run=1 launch=1 offset=70000 mask=4096");
  EXPECT_EQ(outcome.status, 3) << outcome.out << outcome.err;
  EXPECT_THAT(
      outcome.out,
      AllOf(ContainsRegex("CORRUPT +cpu:0.* 1 of [0-9]+ repetitions differ"),
            HasSubstr("differs from its other repetitions, first in operation 1: triad_f64"),
            HasSubstr("byte 70000, address"),
            HasSubstr("bits 0000000000001000 (1 of 64); 1 such words"),
            HasSubstr("0 of 4 replays differ")));
  EXPECT_EQ(written()["differences"].size(), 1u);
}

TEST_F(Health, APlantedFaultIsMarkedInTheResult) {
  const std::string fault = "memory op=triad run=1 launch=1 mask=0x1000";
  const Outcome planted = health({"sdc", "--only", "memory"}, fault);
  EXPECT_EQ(planted.status, 3) << planted.out << planted.err;
  EXPECT_THAT(planted.out,
              AllOf(HasSubstr("PLANTED The test itself changed a result 1 times"), HasSubstr(fault),
                    HasSubstr("wrong memory op=triad"), HasSubstr("bits 0000000000001000"),
                    testing::Not(HasSubstr("take no results from this device"))));
  EXPECT_EQ(written()["planted_faults"], Json({fault}));
  EXPECT_EQ(written()["planted"], 1);
  // It is no evidence against a device, so its file may be replaced. A fault whose repetition does
  // not come is told, and makes no reference.
  const std::string reference = folder_.path() / "reference.json";
  const Outcome never = health({"sdc", "--only", "memory op=dot", "--write-reference", reference},
                               "memory op=dot run=1000000000000");
  EXPECT_EQ(never.status, 6) << never.out << never.err;
  EXPECT_THAT(never.out, HasSubstr("PLANTED No fault was planted"));
  EXPECT_THAT(never.err, HasSubstr("no reference is written, because faults"));
  EXPECT_FALSE(std::filesystem::exists(reference));
}

TEST_F(Health, AFaultThatCannotBePlantedIsRefused) {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"memory op=triad run=1",
       "no unit that is tested here begins with \"memory op=triad\"; the units are: memory op=dot"},
      {"gemm", "begins with \"gemm\"; the units are: memory op=dot"},
      {"memory op=dot rank=1", "there is no rank 1; allowed: 0"},
      {"memory op=dot launch=99", "there is no operation 99; a repetition of \"memory op=dot"},
      {"memory op=dot buffer=99", "there is no buffer 99; \"memory op=dot"},
      {"memory_patterns launch=9", "there is no pattern 9; allowed: 1 to 8"},
      {"memory_patterns buffer=1", "patterns have no buffers; leave buffer out"}};
  for (const auto& [fault, message] : wrong) {
    const Outcome outcome = health({"sdc", "--only", "memory op=dot,memory_patterns"}, fault);
    EXPECT_EQ(outcome.status, 2) << fault << "\n" << outcome.out << outcome.err;
    EXPECT_THAT(outcome.err, AllOf(HasSubstr("fault \"" + fault + "\": "), HasSubstr(message)));
    EXPECT_FALSE(std::filesystem::exists(file_)) << fault;
  }
}

TEST_F(Health, AFaultThatStaysDiffersInEveryReplay) {
  const Outcome outcome =
      health({"sdc", "--only", "memory op=dot"}, "memory run=1 launch=1 mask=1 stays");
  EXPECT_EQ(outcome.status, 3) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("4 of 4 replays differ"));
}

TEST_F(Health, MemoryThatForgetsIsFound) {
  const Outcome outcome = health({"sdc", "--only", "memory_patterns", "--memory", "0.01"},
                                 "memory_patterns run=1 launch=3 offset=4096 mask=2");
  EXPECT_EQ(outcome.status, 3) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("expected 5555555555555555, found 5555555555555557"));
}

TEST_F(Health, ARankThatComputesWronglyIsNamedByTheMajority) {
  const Outcome outcome =
      health({"sdc", "--only", "memory op=dot,collective op=all_reduce", "--ranks", "3"},
             "memory run=1 launch=1 mask=1 rank=1");
  EXPECT_EQ(outcome.status, 3) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("wrong memory op=dot"), HasSubstr("on rank 1, cpu:0"),
                                 HasSubstr("1 of "), HasSubstr("collective op=all_reduce")));
}

TEST_F(Health, ABurnInChecksResultsAndReportsItsSpeed) {
  const Outcome outcome = health({"burn", "--load", "copies"});
  EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("SOUND"), HasSubstr("speed"), HasSubstr("bytes/s")));
  EXPECT_EQ(written()["ranks"].size(), 1u);
  const Outcome wrong = health({"burn", "--load", "copies"}, "copy run=1 launch=1 mask=1");
  EXPECT_EQ(wrong.status, 3) << wrong.out << wrong.err;
}

TEST_F(Health, ASecondTestOfTheSameDeviceIsRefused) {
  Process first(
      {"health", "sdc", "--device", "cpu", "--only", "copy", "--duration", "1h", "--output", file_},
      {{"TMPDIR", folder_.path()}});
  const std::string lock = folder_.path() / "assay-health-cpu-0.lock";
  while (!std::filesystem::exists(lock)) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  Outcome second = health({"sdc", "--only", "copy"});
  for (int i = 0; i < 100 && second.status == 0; ++i) second = health({"sdc", "--only", "copy"});
  EXPECT_EQ(second.status, 4) << second.out;
  EXPECT_THAT(second.err, ContainsRegex("cpu:0 is under test by process [0-9]+"));
  first.signal(SIGINT);
  const Outcome stopped = first.wait();
  EXPECT_EQ(stopped.status, 130) << stopped.out << stopped.err;
  EXPECT_EQ(written()["interrupted"], true);
}

}  // namespace
}  // namespace assay

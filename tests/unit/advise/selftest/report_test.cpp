#include "advise/selftest/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "advise/selftest/selftest.h"
#include "advise/selftest/suspects.h"
#include "core/json.h"

namespace assay::selftest {
namespace {

using testing::HasSubstr;

Report example() {
  Report report = begin_report();
  report.machine = {.device = "AMD Instinct MI300X",
                    .arch = "gfx942:sramecc+:xnack-",
                    .partition = "CPX/NPS4",
                    .memory_bytes = std::uint64_t{24} << 30,
                    .multiprocessors = 38,
                    .emulated = false,
                    .small_work = true,
                    .devices = 8,
                    .libraries = {{"runtime", "7.0.2"}, {"rtc", "not found"}}};
  report.outcomes = {{"whole-words", Outcome::passed, "1000 changes seen", 0.5},
                     {"fences", Outcome::wrong, "numbers: 3, expected 0", 1},
                     {"atomics", Outcome::passed, "", 1},
                     {"sensors", Outcome::untested, "no permission", 0.1},
                     {"wall-clock", Outcome::timed_out, "no answer within 60 s", 60}};
  return report;
}

TEST(SelftestReport, IsReadAsItWasWritten) {
  const auto read = parse_report(to_json(example()).dump());
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(to_json(*read), to_json(example()));
  EXPECT_EQ(read->machine.devices, 8);
  EXPECT_EQ(read->outcomes[4].outcome, Outcome::timed_out);
  const Tally tally = count(read->outcomes);
  EXPECT_EQ(tally.passed, 2);
  EXPECT_EQ(tally.faults, 2);
  EXPECT_EQ(tally.untested, 1);
}

TEST(SelftestReport, WhatIsNoneIsRefusedByName) {
  const auto problem = [](const std::string& text) {
    const auto read = parse_report(text);
    EXPECT_FALSE(read.ok()) << text;
    return read.ok() ? "" : read.error().message;
  };
  EXPECT_THAT(problem("{}"), HasSubstr("selftest"));
  EXPECT_THAT(problem("[1]"), HasSubstr("object"));
  EXPECT_THAT(problem(R"({"selftest": 2, "assay": "9"})"), HasSubstr("version 1"));
  Json json = to_json(example());
  json["checks"][1]["outcome"] = "excellent";
  EXPECT_THAT(problem(json.dump()), HasSubstr("checks[1].outcome"));
  json["checks"] = 7;
  EXPECT_THAT(problem(json.dump()), HasSubstr("checks"));
}

TEST(SelftestReport, AFaultAnswersNoAndWhatWasNotAskedStaysOpen) {
  const auto verdict_on = [](std::string_view check) {
    const auto answers = answers_in(example());
    for (const SuspectAnswer& answer : answers) {
      if (answer.suspect->checks.find(check) == 0) return answer.verdict;
    }
    ADD_FAILURE() << check;
    return Verdict::open;
  };
  EXPECT_EQ(verdict_on("whole-words"), Verdict::yes);
  EXPECT_EQ(verdict_on("fences atomics"), Verdict::no);
  EXPECT_EQ(verdict_on("wall-clock common-clock"), Verdict::no);
  EXPECT_EQ(verdict_on("sensors"), Verdict::open);
  EXPECT_EQ(verdict_on("graph-update"), Verdict::open);
}

/// A question that no check asks would stay open for ever.
TEST(SelftestReport, EverySuspectIsAskedByChecksThatExist) {
  for (const Suspect& suspect : suspects()) {
    std::istringstream names{std::string(suspect.checks)};
    for (std::string name; names >> name;) {
      EXPECT_TRUE(find_checks(name).ok()) << suspect.question << " " << name;
    }
  }
}

TEST(Selftest, NamesOfChecksAreUniqueAndSayWhatPasses) {
  std::set<std::string_view> names;
  for (const Check* check : checks()) {
    EXPECT_TRUE(names.insert(check->name).second) << check->name;
    EXPECT_FALSE(check->about.empty()) << check->name;
    EXPECT_NE(check->run, nullptr) << check->name;
    EXPECT_NE(check->name, name_of(check->topic)) << "a name is no topic";
  }
}

TEST(Selftest, ChecksAreChosenByNameAndTopic) {
  const auto found = find_checks("hardware,copies");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_GT(found->size(), 5u);
  EXPECT_EQ(found->back()->name, "copies");
  const auto unknown = find_checks("copys");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().kind, ErrorKind::usage);
  EXPECT_THAT(unknown.error().message, HasSubstr("did you mean \"copies\"?"));
}

}  // namespace
}  // namespace assay::selftest

// What no verdict may rest on, wherever results are judged.
#include "judge/compare/record_faults.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json.h"
#include "judge/compare/admissible_records.h"
#include "judge/compare/comparison.h"
#include "judge/compare/fleet.h"
#include "judge/compare/operands.h"
#include "results/store/record_json.h"
#include "support/accepted_runs.h"
#include "support/temporary_folder.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Optional;

Record foreign_record(const std::string& metric, const std::string& unit) {
  Record record;
  record.status = RecordStatus::passed;
  record.cell = Cell("collective", {{"op", "all_reduce"}});
  record.source = Source{"nccl-tests", "", "log", 1};
  record.metrics = {{metric, 1e11, unit, Better::higher, ""}};
  return record;
}

TEST(Validity, ASoundRecordHasNoFault) {
  EXPECT_EQ(fault_of(passed_record()), std::nullopt);
  EXPECT_EQ(fault_of(sound_record(1, 1234.5)), std::nullopt);
  Record latency = passed_record("1GiB", 2e-6);
  latency.value->quantity = Quantity::latency;
  latency.value->median = 2e-6;
  EXPECT_EQ(fault_of(latency), std::nullopt);
  EXPECT_EQ(fault_of(foreign_record("busbw", "bytes/s")), std::nullopt)
      << "only the other program could have verified it";
}

TEST(Validity, OwnResultsNeedAVerificationThatPassed) {
  Record missing = passed_record();
  missing.verification.reset();
  EXPECT_THAT(fault_of(missing), Optional(HasSubstr("was not verified")));
  Record failed = passed_record();
  failed.verification->passed = false;
  EXPECT_THAT(fault_of(failed), Optional(HasSubstr("verification failed: every element")));
  failed.verification->detail = "element 3 is 1";
  EXPECT_THAT(fault_of(failed), Optional(HasSubstr("verification failed: element 3 is 1")));
}

TEST(Validity, NumbersAreInTheUnitOfTheirQuantity) {
  Json json = to_json(passed_record());
  EXPECT_EQ(json["value"]["unit"], "bytes/s");
  json["value"]["unit"] = "GB/s";
  const auto read = record_from_json(json);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_THAT(fault_of(*read), Optional(std::string("its bandwidth is in GB/s, not in bytes/s")));
  EXPECT_EQ(to_json(*read)["value"]["unit"], "GB/s") << "storing it again does not mend it";
  EXPECT_THAT(fault_of(foreign_record("busbw", "GB/s")), Optional(HasSubstr("busbw is in GB/s")));
  EXPECT_THAT(fault_of(foreign_record("busbw", "tokens/s")), Optional(HasSubstr("in tokens/s")));
  EXPECT_THAT(fault_of(foreign_record("mean_ttft", "")),
              Optional(HasSubstr("in no unit, not in s")));
  EXPECT_THAT(fault_of(foreign_record("stall", "ms")), Optional(HasSubstr("in ms, not in s")));
  EXPECT_EQ(fault_of(foreign_record("value", "")), std::nullopt) << "SuperBench names no units";
  Record beside = foreign_record("busbw", "bytes/s");
  beside.metrics.push_back({"algbw", 1, "GB/s", Better::neither, ""});
  EXPECT_EQ(fault_of(beside), std::nullopt) << "it is not judged";
}

TEST(Validity, TheValueFollowsFromTheSamples) {
  Record raised = passed_record();
  raised.value->median *= 1.2;
  EXPECT_THAT(fault_of(raised), Optional(HasSubstr("but its samples give 3")));
  Record both = raised;  // the summary goes along, the samples do not
  both.seconds->median /= 1.2;
  EXPECT_THAT(fault_of(both), Optional(HasSubstr("that of its samples is 0.001 s")));
  raised.seconds.reset();
  EXPECT_THAT(fault_of(raised), Optional(HasSubstr("but its samples give 3")));
  raised.samples.reset();
  EXPECT_EQ(fault_of(raised), std::nullopt) << "nothing is left to hold against it";
}

/// Twelve runs on either side, B's of another speed and each with something wrong.
class ValidityTest : public testing::Test {
 protected:
  template <typename Change>
  std::string store(const std::string& name, double factor, const Change& change) {
    auto target = Store::open(folder_.path() / name);
    EXPECT_TRUE(target.ok());
    for (int i = 0; i < 12; ++i) {
      Record record = sound_record(i, usual(i) * factor);
      change(record);
      EXPECT_TRUE(target->append(record).ok());
    }
    return folder_.path() / name;
  }
  TemporaryFolder folder_;
};

TEST_F(ValidityTest, AnUnverifiedSideIsInvalidWhicheverLooksBetter) {
  const std::string good = store("good", 1, [](Record&) {});
  const auto unverified = [](Record& record) { record.verification->passed = false; };
  for (const double factor : {0.8, 1.2}) {
    const std::string bad = store("bad" + std::to_string(factor), factor, unverified);
    const auto operands = load_operands(good, bad);
    ASSERT_TRUE(operands.ok()) << operands.error().message;
    const Comparison comparison = compare(operands->a, operands->b, nullptr, {});
    EXPECT_EQ(comparison.all.judgement.verdict, Verdict::invalid);
    ASSERT_EQ(comparison.cells.size(), 1u);
    EXPECT_EQ(comparison.cells[0].judgement.code, "unsound_result");
    EXPECT_THAT(comparison.cells[0].judgement.reason, HasSubstr("B: its verification failed"));
    EXPECT_FALSE(comparison.all.ratio.has_value());
    const auto evidence = load_evidence(bad);
    ASSERT_TRUE(evidence.ok());
    EXPECT_TRUE(evidence->records.empty()) << "one rule for baselines and histories, too";
  }
}

TEST_F(ValidityTest, AnUnsoundNodeOfAFleetIsOdd) {
  for (const char* node : {"rack/a", "rack/b", "rack/c", "rack/d", "rack/e"}) {
    store(node, 1, [](Record&) {});
  }
  store("rack/f", 1, [](Record& record) { record.verification->passed = false; });
  store("rack/g", 1, [](Record& record) { record.value->median *= 1.001; });
  store("rack/h", 1, [](Record& record) { record.value->unit = "GB/s"; });
  const auto fleet = judge_fleet({folder_.path() / "rack"}, {}, {});
  ASSERT_TRUE(fleet.ok()) << fleet.error().message;
  ASSERT_EQ(fleet->odd.size(), 3u);
  EXPECT_THAT(fleet->odd[0].faults, ElementsAre(HasSubstr("verification failed")));
  EXPECT_THAT(fleet->odd[1].faults, ElementsAre(HasSubstr("but its samples give")));
  EXPECT_THAT(fleet->odd[2].faults, ElementsAre(HasSubstr("in GB/s, not in bytes/s")));
}

}  // namespace
}  // namespace assay

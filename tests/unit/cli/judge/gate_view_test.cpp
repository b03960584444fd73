#include "cli/judge/gate_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

CellComparison gated_cell(const std::string& name, Verdict verdict, double mean) {
  CellComparison cell;
  cell.key = {name, "latency"};
  cell.benchmark = "launch";
  cell.unit = "s";
  cell.median_a = 1e-6;
  cell.median_b = 1.2e-6;
  cell.effect.mean = mean;
  cell.judgement = {verdict, "code", "a reason with <marks> & \"quotes\"", 0};
  return cell;
}

GatedComparison gated() {
  GatedComparison one;
  one.comparison.name_a = "campaigns/nightly/before";
  one.comparison.name_b = "after|x";
  one.comparison.cells = {
      gated_cell("fine", Verdict::equal, 0), gated_cell("slow", Verdict::slower, 0.2),
      gated_cell("open", Verdict::inconclusive, 0), gated_cell("odd", Verdict::invalid, 0)};
  one.comparison.environment = {{"gpu.driver", "1", "2", Likelihood::high, "it is newer"}};
  return one;
}

std::vector<GatedComparison> results() {
  std::vector<GatedComparison> all(1);
  all[0] = gated();
  all[0].result.alarms = {&all[0].comparison.cells[1]};
  all[0].result.invalid = {&all[0].comparison.cells[3]};
  return all;
}

TEST(GateView, ACommentSaysWhatChangedWhyAndHowToRepeatIt) {
  const auto all = results();
  const std::string text = gate_comment(all, {1, 365}, "assay compare a b");
  EXPECT_THAT(text,
              AllOf(HasSubstr("### after\\|x against before: no verdict"),
                    HasSubstr("| slow latency | 1.000 us | 1.200 us |"), HasSubstr("SLOWER"),
                    Not(HasSubstr("fine latency")), HasSubstr("gpu.driver: 1 in A, 2 in B"),
                    HasSubstr("at most 1 false alarm a year"), HasSubstr("`assay compare a b`")));
}

TEST(GateView, JUnitHasACaseForEachCell) {
  const auto all = results();
  const std::string text = gate_junit(all, {1, 365});
  EXPECT_THAT(text, AllOf(HasSubstr("tests=\"4\" failures=\"1\" errors=\"1\" skipped=\"1\""),
                          HasSubstr("name=\"fine latency\"></testcase>"),
                          HasSubstr("<failure message=\"a reason with &lt;marks&gt; &amp; "),
                          HasSubstr("<error message="), HasSubstr("<skipped message=")));
}

TEST(GateView, AnnotationsAreOneLineForEachAlarm) {
  auto all = results();
  all[0].comparison.cells[1].key.cell = "slow\n100%";
  EXPECT_THAT(gate_annotations(all),
              AllOf(HasSubstr("::error title=slower::slow%0A100%25 latency: 1.000 us to 1.200 us"),
                    HasSubstr("::error title=no verdict::odd latency")));
  all[0].result = {};
  EXPECT_THAT(gate_annotations(all), IsEmpty());
}

}  // namespace
}  // namespace assay::cli

#include "advise/tune/tuning_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

constexpr const char* matmul_plan = R"(name: matmul
command: [bench, --block, '{block}', '{flag}', '--both={block}x{warps}', '${HOME} {"a": 1}']
metrics: [{name: time, regex: 'time: (\S+) ms', unit: ms, better: lower}]
variables: {WARPS: '{warps}'}
file: 'out-{block}.json'
timeout: 5s
parameters:
  block: 16..64*2
  warps: [1, 2]
  flag: ['', --fast]
  QUEUES: [unset, 8]
usual: {block: 32}
conditions: block * warps < 128
budget: {runs: 50, time: 10min}
pairs: {least: 6, most: 12}
seed: 7
)";

TEST(TuningPlan, IsReadWithEverythingInIt) {
  const auto plan = parse_tuning_plan(matmul_plan, "plan.yaml");
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(plan->command.name, "matmul");
  EXPECT_EQ(plan->command.timeout_seconds, 5);
  EXPECT_EQ(plan->space.size(), 5u * 4);  // of 6 pairs of block and warps one is too large
  EXPECT_EQ(text_of(plan->space.settings_of(plan->space.usual())), "block=32 warps=1 flag");
  EXPECT_EQ(plan->rules.runs, 50u);
  EXPECT_EQ(plan->rules.seconds, 600);
  EXPECT_EQ(plan->rules.least_pairs, 6u);
  EXPECT_EQ(plan->rules.most_pairs, 12u);
  EXPECT_EQ(plan->rules.seed, 7u);
}

TEST(TuningPlan, ValuesTakeTheirPlacesInTheCommand) {
  const auto plan = parse_tuning_plan(matmul_plan, "plan.yaml");
  ASSERT_TRUE(plan.ok());
  const ExternalCommand usual =
      command_with(plan->command, {{"block", "32"}, {"warps", "2"}, {"flag", ""}});
  EXPECT_THAT(usual.words,
              ElementsAre("bench", "--block", "32", "--both=32x2", "${HOME} {\"a\": 1}"));
  EXPECT_THAT(usual.variables, ElementsAre(Pair("WARPS", "2")));
  EXPECT_EQ(usual.file, "out-32.json");
  const ExternalCommand other = command_with(
      plan->command, {{"block", "16"}, {"warps", "1"}, {"flag", "--fast"}, {"QUEUES", "8"}});
  EXPECT_THAT(other.words,
              ElementsAre("bench", "--block", "16", "--fast", "--both=16x1", "${HOME} {\"a\": 1}"));
  EXPECT_THAT(other.variables, ElementsAre(Pair("WARPS", "1"), Pair("QUEUES", "8")));
}

/// The message for the plan with `from` replaced by `to`.
std::string refused(const std::string& from, const std::string& to) {
  std::string text = matmul_plan;
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  const auto plan = parse_tuning_plan(text, "plan.yaml");
  return plan.ok() ? "accepted" : plan.error().message;
}

TEST(TuningPlan, SaysWhereWhatIsWrong) {
  EXPECT_THAT(refused("'{flag}', ", ""), HasSubstr("parameter flag is not in the command"));
  EXPECT_THAT(refused("'{flag}'", "'{flags}'"),
              HasSubstr("plan.yaml:2: {flags} is not a parameter (did you mean \"flag\"?)"));
  EXPECT_THAT(refused("better: lower", "better: neither"), HasSubstr("must be higher or lower"));
  EXPECT_THAT(refused("usual: {block: 32}", "usual: {block: 33}"),
              HasSubstr("plan.yaml:12: \"33\" is not a value of block; allowed: 16, 32, 64"));
  EXPECT_THAT(refused("[1, 2]", "[1, 1]"),
              HasSubstr("plan.yaml:9: warps has the value \"1\" twice"));
  EXPECT_THAT(refused("16..64*2", "16..64*1"), HasSubstr("plan.yaml:8: "));
  EXPECT_THAT(refused("block * warps < 128", "block * warp < 128"),
              HasSubstr("plan.yaml:13: condition \"block * warp < 128\": no such column: warp"));
  EXPECT_THAT(refused("block * warps < 128", "block > 32"), HasSubstr("break the condition"));
  EXPECT_THAT(refused("runs: 50", "runs: 5"), HasSubstr("plan.yaml:14: "));
  EXPECT_THAT(refused("least: 6", "least: 5"), HasSubstr("plan.yaml:15: "));
  EXPECT_THAT(refused("most: 12", "most: 5"), HasSubstr("plan.yaml:15: "));
  EXPECT_THAT(refused("seed: 7", "sed: 7"), HasSubstr("sed"));
  EXPECT_THAT(refused("  QUEUES", "  2nd"), HasSubstr("\"2nd\" is not a parameter's name"));
  EXPECT_THAT(refused("parameters:", "parameters: 3\nusual_:"), HasSubstr("plan.yaml:"));
}

}  // namespace
}  // namespace assay

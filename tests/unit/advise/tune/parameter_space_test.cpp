#include "advise/tune/parameter_space.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "advise/tune/condition.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

TEST(ParameterSpace, NumbersTheSettingsThatMeetTheConditions) {
  const auto space = ParameterSpace::make(
      {{"block", {"32", "64", "128"}, 1}, {"warps", {"4", "8"}, 0}}, {"block * warps <= 512"});
  ASSERT_TRUE(space.ok()) << space.error().message;
  ASSERT_EQ(space->size(), 5u);
  EXPECT_EQ(text_of(space->settings_of(space->usual())), "block=64 warps=4");
  std::vector<std::string> all;
  for (std::size_t i = 0; i < space->size(); ++i) all.push_back(text_of(space->settings_of(i)));
  EXPECT_THAT(all, UnorderedElementsAre("block=32 warps=4", "block=64 warps=4", "block=128 warps=4",
                                        "block=32 warps=8", "block=64 warps=8"));
}

TEST(ParameterSpace, PlacesNumbersByRankAndNamesByNothing) {
  const auto space =
      ParameterSpace::make({{"size", {"4096", "1", "64"}, 0}, {"kind", {"x", "1"}, 0}}, {});
  ASSERT_TRUE(space.ok());
  EXPECT_THAT(space->kinds(), ElementsAre(CoordinateKind::ordered, CoordinateKind::named));
  EXPECT_THAT(space->point_of(0), ElementsAre(1.0, 0.0));
  EXPECT_THAT(space->point_of(1), ElementsAre(0.0, 0.0));
  EXPECT_THAT(space->point_of(5), ElementsAre(0.5, 1.0));
}

TEST(ParameterSpace, NeighboursDifferInOneParameter) {
  const auto space = ParameterSpace::make(
      {{"size", {"1", "2", "4", "8"}, 1}, {"kind", {"x", "y", "z"}, 0}}, {"size <> 4"});
  ASSERT_TRUE(space.ok());
  std::vector<std::string> neighbours;
  for (const std::size_t one : space->neighbours_of(space->usual())) {
    neighbours.push_back(text_of(space->settings_of(one)));
  }
  EXPECT_THAT(neighbours, UnorderedElementsAre("size=1 kind=x", "size=2 kind=y", "size=2 kind=z"));
}

TEST(ParameterSpace, AVariableThatIsUnsetIsNull) {
  const auto space =
      ParameterSpace::make({{"QUEUES", {"unset", "2", "8"}, 0}}, {"QUEUES IS NULL OR QUEUES < 4"});
  ASSERT_TRUE(space.ok()) << space.error().message;
  ASSERT_EQ(space->size(), 2u);
  EXPECT_TRUE(space->settings_of(0).empty());
  EXPECT_EQ(text_of(space->settings_of(1)), "QUEUES=2");
}

TEST(ParameterSpace, ChangesOneParameterAtATime) {
  // All combinations would be too many.
  std::vector<Parameter> parameters(30, {"", {"4", "unset", "8"}, 1});
  for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i].name = std::to_string(i);
  const auto space = ParameterSpace::one_at_a_time(parameters);
  ASSERT_TRUE(space.ok()) << space.error().message;
  ASSERT_EQ(space->size(), 1u + 2 * 30);
  EXPECT_TRUE(space->settings_of(space->usual()).empty());
  std::set<std::string> all;
  for (std::size_t i = 0; i < space->size(); ++i) {
    const Settings settings = space->settings_of(i);
    EXPECT_EQ(settings.size(), i == space->usual() ? 0u : 1u);
    all.insert(text_of(settings));
  }
  EXPECT_EQ(all.size(), space->size());
  EXPECT_EQ(all.count("29=8"), 1u);
  parameters.resize(41, parameters.front());
  const auto many = ParameterSpace::one_at_a_time(parameters);
  ASSERT_FALSE(many.ok());
  EXPECT_THAT(many.error().message, HasSubstr("name fewer values or parameters"));
}

TEST(ParameterSpace, RefusesWhatCannotBeTuned) {
  const auto refused = [](std::vector<Parameter> parameters, std::vector<std::string> conditions) {
    const auto space = ParameterSpace::make(std::move(parameters), conditions);
    return space.ok() ? "accepted" : space.error().message;
  };
  EXPECT_EQ(refused({}, {}), "there is no parameter to tune");
  EXPECT_EQ(refused({{"a", {}, 0}}, {}), "parameter a has no values");
  EXPECT_THAT(refused({{"a", {"1", "2"}, 0}}, {"a > 1"}),
              HasSubstr("the default values, 1, break the condition \"a > 1\""));
  const std::vector<std::string> many(1001, "1");
  EXPECT_THAT(refused({{"a", many, 0}, {"b", many, 0}}, {}),
              HasSubstr("more than 1000000 combinations"));
}

TEST(Condition, RefusesWhatIsNotAnExpressionOverTheParameters) {
  const auto refused = [](const char* text) {
    const auto condition = Condition::compile(text, {"a", "b"});
    return condition.ok() ? "accepted" : condition.error().message;
  };
  EXPECT_EQ(refused("a + b > 3 AND a IN (1, 2)"), "accepted");
  EXPECT_THAT(refused("a >"), HasSubstr("condition \"a >\": "));
  EXPECT_THAT(refused("c > 1"), HasSubstr("no such column: c"));
  EXPECT_THAT(refused("\"c\" > 1"), HasSubstr("no such column"));
  EXPECT_THAT(refused("1); DROP TABLE x; SELECT (1"), HasSubstr("condition"));
  EXPECT_THAT(refused("a > ?3"), HasSubstr("is not one expression"));
  EXPECT_THAT(refused("(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) "
                      "SELECT max(i) FROM n)"),
              HasSubstr("condition"));
  EXPECT_THAT(refused(""), HasSubstr("condition"));
}

TEST(Condition, CanBeEvaluatedForAsManySettingsAsThereAre) {
  const auto condition = Condition::compile("a * a + 4 / a <= 1e9", {"a", "b"});
  ASSERT_TRUE(condition.ok());
  constexpr int settings = 20'000;  // more than SQLite's steps of one evaluation allow
  for (int i = 0; i < settings; ++i) {
    const auto holds = condition->holds({"3", "1"});
    ASSERT_TRUE(holds.ok()) << i << ": " << holds.error().message;
  }
}

TEST(Condition, ComparesNumbersAsNumbersAndTextAsText) {
  const auto condition = Condition::compile("a < 10 AND b = 'x'", {"a", "b"});
  ASSERT_TRUE(condition.ok());
  EXPECT_TRUE(*condition->holds({"9", "x"}));
  EXPECT_FALSE(*condition->holds({"9", "y"}));
  EXPECT_FALSE(*condition->holds({"11", "x"}));
  EXPECT_FALSE(*condition->holds({"", "x"}));
}

}  // namespace
}  // namespace assay

#include "advise/tune/search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/simulated_tuning.h"

namespace assay {
namespace {

TEST(Search, RacesAllSettingsIfTheBudgetIsEnough) {
  const auto space = ParameterSpace::make({{"a", as_texts({1, 2, 4, 8}), 1}, {"b", {"x", "y"}, 0}},
                                          {"a < 8 OR b = 'x'"});
  ASSERT_TRUE(space.ok());
  ASSERT_EQ(space->size(), 7u);
  std::size_t runs = 0;
  const auto result =
      search_settings(*space, {.runs = 40}, 1, [&](std::size_t setting, std::size_t effort) {
        ++runs;
        EXPECT_EQ(effort, 1u);
        return Result<std::optional<double>>(setting == 4 ? 1.0 : 0.0);
      });
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->explored, 0u);
  EXPECT_EQ(result->finalists.size(), 7u);
  EXPECT_EQ(result->finalists.front().contender, 4u);
  EXPECT_EQ(runs, 7u + 2 * 3u);
}

TEST(Search, TakesTheSameCourseForTheSameResults) {
  const ParameterSpace space = simulated_parameters();
  const auto course = [&](std::uint64_t seed) {
    std::vector<std::size_t> settings;
    SimulatedProgram program(space, {}, 7);
    EXPECT_TRUE(search_settings(space, {.runs = 60}, seed, [&](std::size_t setting, std::size_t) {
                  settings.push_back(setting);
                  return Result<std::optional<double>>(program.run(setting));
                }).ok());
    return settings;
  };
  const auto once = course(3);
  EXPECT_EQ(once.front(), space.usual());
  EXPECT_EQ(once, course(3));
  EXPECT_NE(once, course(4));
}

TEST(Search, EndsExploringWhenTheTimeIsUp) {
  const ParameterSpace space = simulated_parameters();
  std::size_t runs = 0;
  SimulatedProgram program(space, {}, 7);
  const SearchBudget budget = {.runs = 1000,
                               .time_spent = [&] { return static_cast<double>(runs) / 60; }};
  const auto result = search_settings(space, budget, 1, [&](std::size_t setting, std::size_t) {
    ++runs;
    return Result<std::optional<double>>(program.run(setting));
  });
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->explored, 39u);
  EXPECT_LE(runs, 60u);
}

TEST(Search, NothingButFailuresHasNoWinner) {
  const ParameterSpace space = simulated_parameters();
  std::size_t runs = 0;
  const auto result = search_settings(space, {.runs = 60}, 1, [&](std::size_t, std::size_t) {
    ++runs;
    return Result<std::optional<double>>(std::nullopt);
  });
  ASSERT_TRUE(result.ok()) << result.error().message;
  ASSERT_EQ(result->finalists.size(), 1u);
  EXPECT_EQ(result->finalists.front().contender, space.usual());
  EXPECT_FALSE(result->finalists.front().score);
  EXPECT_LE(runs, 60u);
}

TEST(Search, TheUsualSettingMayFail) {
  const ParameterSpace space = simulated_parameters();
  SimulatedProgram program(space, {}, 7);
  const auto result =
      search_settings(space, {.runs = 60}, 1,
                      [&](std::size_t setting, std::size_t) -> Result<std::optional<double>> {
                        return setting == space.usual() ? std::nullopt : program.run(setting);
                      });
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_TRUE(result->finalists.front().score);
  EXPECT_EQ(result->finalists.back().contender, space.usual());
}

}  // namespace
}  // namespace assay

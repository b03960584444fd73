#include <gtest/gtest.h>

#include "advise/tune/search.h"
#include "support/simulated_tuning.h"

namespace assay {
namespace {

// bench_search_rates has the rate: 100 of 100 such searches.
TEST(SearchRates, FindsAPlantedBestAmongTwoThousandInATenthOfTheRuns) {
  const ParameterSpace space = simulated_parameters();
  ASSERT_EQ(space.size(), 2000u);
  int found = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SimulatedProgram program(space, {}, seed);
    const auto result =
        search_settings(space, {.runs = 200}, seed, [&](std::size_t setting, std::size_t) {
          return Result<std::optional<double>>(program.run(setting));
        });
    ASSERT_TRUE(result.ok());
    EXPECT_LE(program.runs(), 200u);
    EXPECT_GT(program.runs(), 150u);
    if (program.speed(result->finalists.front().contender) >= -0.01) ++found;
  }
  EXPECT_GE(found, 9);
}

}  // namespace
}  // namespace assay

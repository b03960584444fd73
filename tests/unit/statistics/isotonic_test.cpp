#include "statistics/isotonic.h"

#include <gmock/gmock.h>

namespace assay {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<double> fit(std::vector<double> values, std::vector<double> weights = {}) {
  weights.resize(values.size(), 1);
  return isotonic_fit(values, weights);
}

TEST(Isotonic, LeavesWhatNeverFalls) {
  EXPECT_THAT(fit({1, 2, 2, 5}), ElementsAre(1, 2, 2, 5));
  EXPECT_THAT(fit({}), IsEmpty());
}

TEST(Isotonic, PoolsWhatFallsAsFarBackAsNeeded) {
  EXPECT_THAT(fit({1, 3, 2, 4}), ElementsAre(1, 2.5, 2.5, 4));
  EXPECT_THAT(fit({4, 5, 0}), ElementsAre(3, 3, 3));
}

TEST(Isotonic, WeighsValues) {
  EXPECT_THAT(fit({3, 1}, {3, 1}), ElementsAre(2.5, 2.5));
}

}  // namespace
}  // namespace assay

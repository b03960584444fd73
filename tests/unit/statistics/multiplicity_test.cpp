#include "statistics/multiplicity.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

using Flags = std::vector<bool>;

TEST(Holm, StepsDownAndStopsAtTheFirstFailure) {
  // Bounds 0.05/4, 0.05/3, 0.05/2, 0.05: the third smallest fails, so the largest does not count.
  const std::vector<double> p = {0.03, 0.012, 0.04, 0.016};
  EXPECT_EQ(holm(p, 0.05), (Flags{false, true, false, true}));
  EXPECT_EQ(holm({}, 0.05), Flags{});
}

}  // namespace
}  // namespace assay

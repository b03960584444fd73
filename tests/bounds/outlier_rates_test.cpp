#include <gtest/gtest.h>

#include <algorithm>

#include "core/random.h"
#include "statistics/multiplicity.h"
#include "statistics/outliers.h"

namespace assay {
namespace {

/// How often a sound fleet has any odd node, by the rule of `assay fleet`.
double false_alarms(std::size_t nodes, std::size_t cells) {
  constexpr int fleets = 200;
  Random random(nodes);
  int alarms = 0;
  for (int fleet = 0; fleet < fleets; ++fleet) {
    std::vector<double> p;
    for (std::size_t cell = 0; cell < cells; ++cell) {
      std::vector<double> values;
      for (std::size_t node = 0; node < nodes; ++node) {
        values.push_back(random.normal());
      }
      const std::vector<double> of_cell = outlier_p(values);
      p.insert(p.end(), of_cell.begin(), of_cell.end());
    }
    const std::vector<bool> odd = holm(p, 0.05);
    alarms += std::count(odd.begin(), odd.end(), true) > 0 ? 1 : 0;
  }
  return static_cast<double>(alarms) / fleets;
}

TEST(OutlierRates, ASoundFleetSeldomHasAnOddNode) {
  for (const std::size_t nodes : {6, 16, 64, 256}) {
    EXPECT_LE(false_alarms(nodes, 10), 0.05 + 0.031) << nodes << " nodes";
  }
}

}  // namespace
}  // namespace assay

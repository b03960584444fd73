#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "core/random.h"
#include "statistics/multiplicity.h"
#include "statistics/outliers.h"
#include "statistics/two_groups.h"

namespace assay {
namespace {

/// The share of sound fleets in which the rule of `assay fleet` finds any outlier.
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

/// How often a sound fleet falls into two groups in any cell, by the rule of `assay fleet`.
double false_groups(std::size_t nodes, std::size_t cells,
                    const std::function<double(Random&)>& draw) {
  constexpr int fleets = 1000;
  Random random(nodes * 1000 + cells);
  int alarms = 0;
  for (int fleet = 0; fleet < fleets; ++fleet) {
    std::vector<double> p;
    for (std::size_t cell = 0; cell < cells; ++cell) {
      std::vector<double> values;
      for (std::size_t node = 0; node < nodes; ++node) values.push_back(draw(random));
      p.push_back(two_groups(values)->p);
    }
    const std::vector<bool> split = holm(p, 0.05);
    alarms += std::count(split.begin(), split.end(), true) > 0 ? 1 : 0;
  }
  return static_cast<double>(alarms) / fleets;
}

/// Student's t with three degrees of freedom.
double heavy(Random& random) {
  double squares = 0;
  const double value = random.normal();
  for (int i = 0; i < 3; ++i) squares += std::pow(random.normal(), 2);
  return value / std::sqrt(squares / 3);
}

TEST(GroupRates, ASoundFleetSeldomFallsIntoTwoGroups) {
  const auto normal = [](Random& random) { return random.normal(); };
  const auto slow_tail = [](Random& random) { return -std::log(1 - random.uniform()); };
  for (const std::size_t nodes : {4, 5, 6, 8, 12, 16, 64}) {
    for (const std::size_t cells : {1, 10}) {
      EXPECT_LT(false_groups(nodes, cells, normal), 0.05) << nodes << " nodes, normal";
      EXPECT_LT(false_groups(nodes, cells, heavy), 0.05) << nodes << " nodes, heavy tails";
      EXPECT_LT(false_groups(nodes, cells, slow_tail), 0.05) << nodes << " nodes, a slow tail";
      EXPECT_LT(false_groups(nodes, cells, &Random::uniform), 0.05) << nodes << " nodes, uniform";
    }
  }
}

/// What the test is for: half of the nodes 30% slower, with noise of 0.5%, in one of ten cells.
TEST(GroupRates, ASplitFleetIsFound) {
  constexpr int fleets = 200;
  for (const std::size_t nodes : {8, 12, 16}) {
    Random random(nodes);
    int found = 0;
    for (int fleet = 0; fleet < fleets; ++fleet) {
      std::vector<double> p(9, 1.0), values;
      for (std::size_t node = 0; node < nodes; ++node) {
        values.push_back(0.005 * random.normal() + (node % 2 == 1 ? std::log(1.3) : 0));
      }
      p.push_back(two_groups(values)->p);
      found += holm(p, 0.05).back() ? 1 : 0;
    }
    EXPECT_EQ(found, fleets) << nodes << " nodes";
  }
}

}  // namespace
}  // namespace assay

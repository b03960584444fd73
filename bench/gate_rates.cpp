// How often a nightly gate (assay compare --alarms 1/year --every day) raises false alarms, and
// which slow-downs it finds: simulated years, by the real rule.
//   build/bench/bench_gate_rates [YEARS]
// docs/gate.md quotes the table.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "core/random.h"
#include "judge/compare/family.h"
#include "judge/compare/regression_gate.h"
#include "statistics/paired.h"

namespace assay {
namespace {

struct World {
  std::size_t cells = 1, pairs = 20;
  double noise = 0.01;  ///< standard deviation of a pair's log ratio
};

/// Returns whether one run raises an alarm, if the first cell takes `slower` more time (a log
/// ratio).
bool raises_alarm(const World& world, double slower, const VerdictRule& rule, Random& random) {
  std::vector<PairedMember> members(world.cells);
  for (std::size_t cell = 0; cell < world.cells; ++cell) {
    members[cell].cell = cell;
    PairedSeries& series = members[cell].differences;
    for (std::size_t pair = 0; pair < world.pairs; ++pair) {
      series.pairs.push_back(pair);
      series.differences.push_back((cell == 0 ? slower : 0) + world.noise * random.normal());
    }
  }
  // No cell can be SLOWER whose plain interval reaches the margin, and most runs end here: flips of
  // signs take a thousand times as long.
  if (std::ranges::none_of(members, [&](const PairedMember& member) {
        const double bound = rule.log_margin();
        return paired_effect(member.differences.differences, bound).t95.low > bound;
      })) {
    return false;
  }
  const JudgedFamily family = judge_family(members, 1, rule);
  return std::ranges::any_of(family.members, [](const JudgedMember& member) {
    return member.ruling.verdict == Verdict::slower && !member.effect.drifts();
  });
}

double alarms(const World& world, double slower, const VerdictRule& rule, std::size_t runs) {
  Random random(1);
  std::size_t count = 0;
  for (std::size_t i = 0; i < runs; ++i) count += raises_alarm(world, slower, rule, random) ? 1 : 0;
  return static_cast<double>(count) / static_cast<double>(runs);
}

void print(std::size_t years) {
  const RegressionGate gate{1, 365};
  const VerdictRule rule = rule_of_gate({}, gate);
  const double margin = rule.log_margin();
  const std::size_t least = rule.least_draws();
  constexpr std::size_t some = 2000;
  fmt::print(
      "{} years of nightly gates at one false alarm a year, margin 2%, at least {} pairs.\n"
      "a year: false alarms a year if nothing changed, and if a cell is slower by just the margin\n"
      "(the worst case); found: share of runs that find a slow-down of 2%, 5%, 10%.\n",
      years, least);
  fmt::print("{:>5} {:>5} {:>6} {:>10} {:>10} {:>8} {:>8} {:>8}\n", "cells", "pairs", "noise",
             "unchanged", "at margin", "2%", "5%", "10%");
  for (const std::size_t cells : {1, 6}) {
    for (const std::size_t pairs : {12, 20, 40}) {
      for (const double noise : {0.01, 0.03, 0.1}) {
        const World world{cells, pairs, noise};
        const auto found = [&](double share) {
          return 100 * alarms(world, std::log1p(share), rule, some);
        };
        fmt::print("{:5} {:5} {:5.0f}% {:10.2f} {:10.2f} {:7.1f}% {:7.1f}% {:7.1f}%\n", cells,
                   pairs, 100 * noise, 365 * alarms(world, 0, rule, 365 * years),
                   365 * alarms(world, margin, rule, 365 * years), found(0.02), found(0.05),
                   found(0.1));
        std::fflush(stdout);
      }
    }
  }
}

}  // namespace
}  // namespace assay

int main(int count, char** words) {
  const long years = count > 1 ? std::atol(words[1]) : 1000;
  assay::print(years > 0 ? static_cast<std::size_t>(years) : 1000);
}

// How often many cells that are judged together are called different, in simulated campaigns whose
// truth is known.
//   build/bench/bench_family_rates [CAMPAIGNS]
// Each row is one kind of campaign of 10 pairs; its columns are shares of campaigns in percent. The
// order of each pair is drawn by a coin of its own; campaigns do not draw so yet. Rows of 1,000
// cells are of a fifth as many campaigns. `wrong`: all cells are equal, and one is called
// different.
// `+20%`: all cells are 20% slower, and all are called slower than the margin of 2%. `one`: one
// cell is 20% slower, and is called so. `margin`: all cells are exactly the margin slower, and one
// is called slower than that.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <numeric>
#include <string_view>

#include "core/random.h"
#include "statistics/joint_flips.h"

namespace assay {
namespace {

constexpr std::size_t pairs = 10, least = 6;
constexpr double unit_noise = 0.01;

enum class Noise {
  normal,
  t3,        ///< Student's t with 3 degrees of freedom, of the same deviation: sometimes far away
  drifting,  ///< normal, and each unit is 0.9 of the one before it plus something new
};

double standard(Noise noise, Random& random) {
  const double z = random.normal();
  if (noise != Noise::t3) return z;
  return z / std::sqrt(2 * random.gamma(1.5) / 3) / std::sqrt(3.0);
}

/// The noise of units in the order in which they are measured.
std::vector<double> units(std::size_t count, Noise noise, Random& random) {
  std::vector<double> all(count);
  double before = random.normal();
  for (double& value : all) {
    value = standard(noise, random);
    if (noise == Noise::drifting) value = before = 0.9 * before + std::sqrt(1 - 0.81) * value;
  }
  return all;
}

/// One campaign of `cells` whose noise is correlated by `rho`, with `slower[cell]` added to
/// logarithms of B's times.
std::vector<FlippedSeries> campaign(std::size_t cells, double rho, Noise noise,
                                    const std::vector<double>& slower, Random& random) {
  std::array<bool, pairs> b_first = {};
  for (bool& first : b_first) first = random.uniform() < 0.5;
  const std::vector<double> shared = units(2 * pairs, noise, random);
  std::vector<FlippedSeries> family(cells);
  for (std::size_t cell = 0; cell < cells; ++cell) {
    const std::vector<double> own = units(2 * pairs, noise, random);
    for (std::size_t pair = 0; pair < pairs; ++pair) {
      const auto at = [&](std::size_t unit) {
        return unit_noise * (std::sqrt(rho) * shared[unit] + std::sqrt(1 - rho) * own[unit]);
      };
      const double difference = at(2 * pair + 1) - at(2 * pair);
      family[cell].coins.push_back(pair);
      family[cell].differences.push_back((b_first[pair] ? -difference : difference) + slower[cell]);
    }
  }
  return family;
}

struct Rates {
  double wrong = 0, all_found = 0, one_found = 0, at_margin = 0;
};

Rates rates(std::size_t cells, double rho, Noise noise, std::size_t campaigns) {
  const double margin = std::log(1.02), much = std::log(1.2);
  Random random(cells * 1000 + static_cast<std::uint64_t>(rho * 100) +
                static_cast<std::uint64_t>(noise));
  const auto below = [](const std::vector<double>& p, double alpha) {
    return static_cast<std::size_t>(
        std::count_if(p.begin(), p.end(), [&](double value) { return value <= alpha; }));
  };
  const auto judged = [&](const std::vector<double>& slower, Flips side, double bound) {
    return joint_flip_test(campaign(cells, rho, noise, slower, random), side, bound, least,
                           random.next());
  };
  std::vector<double> one(cells, 0);
  one.front() = much;
  Rates sums;
  for (std::size_t i = 0; i < campaigns; ++i) {
    const std::vector<double> equal(cells, 0), all(cells, much), at(cells, margin);
    sums.wrong += below(judged(equal, Flips::either, 0), 0.05) > 0 ? 1 : 0;
    sums.all_found += below(judged(all, Flips::above, margin), 0.025) == cells ? 1 : 0;
    sums.one_found += judged(one, Flips::above, margin).front() <= 0.025 ? 1 : 0;
    sums.at_margin += below(judged(at, Flips::above, margin), 0.025) > 0 ? 1 : 0;
  }
  const double share = 100.0 / static_cast<double>(campaigns);
  return {sums.wrong * share, sums.all_found * share, sums.one_found * share,
          sums.at_margin * share};
}

int run(std::size_t campaigns) {
  fmt::print("{} campaigns each ({} of 1000 cells), 10 pairs; % of campaigns\n", campaigns,
             std::max<std::size_t>(1, campaigns / 5));
  fmt::print("{:>5} {:9} {:>11} {:>6} {:>6} {:>6} {:>6}\n", "cells", "noise", "correlation",
             "wrong", "+20%", "one", "margin");
  for (const std::size_t cells : {1, 25, 100, 1000}) {
    for (const double rho : {0.0, 0.8}) {
      for (const auto& [noise, name] :
           {std::pair{Noise::normal, "normal"}, std::pair{Noise::t3, "t3"},
            std::pair{Noise::drifting, "AR(0.9)"}}) {
        // The time that a campaign takes grows with its cells.
        const std::size_t some = std::max<std::size_t>(1, cells < 1000 ? campaigns : campaigns / 5);
        const Rates found = rates(cells, rho, noise, some);
        fmt::print("{:5} {:9} {:11.1f} {:6.1f} {:6.1f} {:6.1f} {:6.1f}\n", cells, name, rho,
                   found.wrong, found.all_found, found.one_found, found.at_margin);
        std::fflush(stdout);
      }
    }
  }
  return 0;
}

}  // namespace
}  // namespace assay

int main(int argc, char** argv) {
  const std::string_view count = argc > 1 ? argv[1] : "1000";
  std::size_t campaigns = 0;
  const auto [end, error] = std::from_chars(count.data(), count.data() + count.size(), campaigns);
  if (error != std::errc() || end != count.data() + count.size() || campaigns == 0) {
    fmt::print(stderr, "bench_family_rates: \"{}\" is not a number of campaigns\n", count);
    return 2;
  }
  return assay::run(campaigns);
}

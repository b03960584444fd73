// How often `assay history` finds true and false change points, in simulated series whose changes
// are known.
//   build/bench/bench_change_point_rates [SERIES]
// docs/method.md states the results.
#include <fmt/format.h>

#include <charconv>
#include <string_view>

#include "support/simulated_series.h"

namespace assay {
namespace {

void print_row(const SimulatedSeries& world, const ChangePointRule& rule, std::size_t series) {
  const ChangePointRates rates = simulate_series(world, rule, series, 1);
  fmt::print("{:6} {:16.1f} {:6.1f} {:8} {:9.2g} {:8.2f} {:8.2f} {:8.2f}\n", world.points,
             world.autocorrelation, world.step, world.step > 0 ? world.step_at : 0, rule.p,
             100 * rates.any, 100 * rates.found, 100 * rates.extra);
}

void run(std::size_t series) {
  fmt::print("{} series each; steps in standard deviations; % of series\n", series);
  fmt::print("{:>6} {:>16} {:>6} {:>8} {:>9} {:>8} {:>8} {:>8}\n", "points", "autocorrelation",
             "step", "at", "p", "any", "within 2", "elsewhere");
  for (const std::size_t points : {20, 60, 200}) print_row({.points = points}, {}, series);
  // The p that the correction over 10 and 100 series leaves.
  for (const double p : {1e-4, 1e-5}) print_row({}, {.p = p}, series);
  for (const double rho : {0.2, 0.5}) {
    print_row({.autocorrelation = rho}, {}, series);
    print_row({.autocorrelation = rho}, {.p = 1e-5}, series);
  }
  for (const std::size_t at : {30, 55, 58}) {
    for (int step = 1; step <= 5; ++step) {
      print_row({.step = static_cast<double>(step), .step_at = at}, {}, series);
    }
  }
}

}  // namespace
}  // namespace assay

int main(int argc, char** argv) {
  const std::string_view count = argc > 1 ? argv[1] : "2000";
  std::size_t series = 0;
  const auto [end, error] = std::from_chars(count.data(), count.data() + count.size(), series);
  if (error != std::errc() || end != count.data() + count.size() || series == 0) {
    fmt::print(stderr, "bench_change_point_rates: \"{}\" is not a number of series\n", count);
    return 2;
  }
  assay::run(series);
  return 0;
}

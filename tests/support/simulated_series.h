// Simulated series with known changes, and how often the search finds them: for tests and
// bench_change_point_rates.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "core/random.h"
#include "statistics/change_points.h"

namespace assay {

struct SimulatedSeries {
  std::size_t points = 60;
  double autocorrelation = 0;  ///< autocorrelation of neighbours; the deviation is always 1
  double step = 0;             ///< in standard deviations
  std::size_t step_at = 30;
};

inline std::vector<double> draw(const SimulatedSeries& world, Random& random) {
  const double rho = world.autocorrelation, fresh = std::sqrt(1 - rho * rho);
  std::vector<double> values;
  double noise = random.normal();
  for (std::size_t i = 0; i < world.points; ++i) {
    if (i > 0) noise = rho * noise + fresh * random.normal();
    values.push_back(noise + (i >= world.step_at ? world.step : 0));
  }
  return values;
}

struct ChangePointRates {
  double any = 0;    ///< share of the series with a change point anywhere
  double found = 0;  ///< share with one at most two points from the true step
  double extra = 0;  ///< share with one further away
};

inline ChangePointRates simulate_series(const SimulatedSeries& world, const ChangePointRule& rule,
                                        std::size_t series, std::uint64_t seed) {
  Random random(seed);
  ChangePointRates rates;
  for (std::size_t i = 0; i < series; ++i) {
    bool found = false, extra = false;
    for (const ChangePoint& point : find_change_points(draw(world, random), rule)) {
      const bool near = point.index + 2 >= world.step_at && point.index <= world.step_at + 2;
      (near ? found : extra) = true;
    }
    rates.any += found || extra ? 1 : 0;
    rates.found += found ? 1 : 0;
    rates.extra += extra ? 1 : 0;
  }
  for (double* rate : {&rates.any, &rates.found, &rates.extra}) {
    *rate /= static_cast<double>(series);
  }
  return rates;
}

}  // namespace assay

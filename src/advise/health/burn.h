// A burn-in: load that keeps a device busy for a long time, with every result checked as it goes.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "advise/health/corruption_work.h"
#include "advise/health/sdc.h"
#include "statistics/slope.h"

namespace assay::health {

/// Error: usage, with what is allowed.
Result<Load> parse_load(std::string_view text);  ///< "products", "training", ...

/// One stretch of time of a burn-in.
struct BurnWindow {
  double begin = 0, seconds = 0;
  double flops = 0, bytes = 0;  ///< of the work in it
  double speed = 0;             ///< 1: each unit took as long as in its first repetitions
  std::optional<double> clock_hz, power_watts, temperature_celsius, throttled_share;
  std::string throttled;  ///< causes that the driver named in it
};

/// How one device fared.
struct BurnRank {
  int rank = 0;
  std::string device;
  std::vector<BurnWindow> windows;
  double turn_seconds = 0;  ///< of one repetition of each unit, on average
  std::string ended_by;     ///< the event that ended the burn-in; empty: none
};
/// Change of a device's speed in an hour, with its 95% interval. Empty for too few windows.
std::optional<Slope> drift_per_hour(const BurnRank& rank);

struct BurnOutcome {
  SdcOutcome results;  ///< what the checks found
  std::vector<BurnRank> ranks;
};
Json to_json(const BurnOutcome& outcome);
/// The rank whose turn takes longest, and by which share longer than the fastest one's. Empty for
/// one rank.
std::optional<std::pair<int, double>> slowest_of(const BurnOutcome& outcome);

struct BurnPlan {
  SdcPlan sdc;  ///< duration, seed, what to call; its work is ignored
  Load load = Load::all;
  double window_seconds = 10;
};

/// Burns in the devices of all ranks, which call it together. It ends early on a thermal slowdown
/// or an uncorrected memory error of any of them. Error: as check_corruption().
Result<BurnOutcome> burn_in(const BurnPlan& plan, Device& device, Team& team);

}  // namespace assay::health

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

/// Parses the name of an enumerator: "products". Error: usage, with what is allowed.
Result<Load> parse_load(std::string_view text);

/// One stretch of time of a burn-in. A value that no sensor gives is absent.
struct BurnWindow {
  double begin = 0, seconds = 0;  ///< from the start of the burn-in; its length
  double flops = 0, bytes = 0;    ///< of the work in it
  double speed = 0;               ///< 1: each unit took as long as in its first repetitions
  std::optional<double> clock_hz, power_watts;  ///< means
  std::optional<double> temperature_celsius;    ///< maximum
  std::optional<double> throttled_share;  ///< share of the time in which the clock was limited
  std::string throttled;                  ///< causes that the driver named in it
};

/// How one device fared.
struct BurnRank {
  int rank = 0;
  std::string device;               ///< its name
  std::vector<BurnWindow> windows;  ///< in time order
  double turn_seconds = 0;          ///< time of one repetition of each unit, added, on average
  std::string ended_by;             ///< the event that ended the burn-in; empty: none
};
/// Returns the change of a device's BurnWindow::speed in an hour, with its 95% interval; nullopt
/// for fewer than 3 windows.
std::optional<Slope> drift_per_hour(const BurnRank& rank);

/// The result of a burn-in.
struct BurnOutcome {
  SdcOutcome results;           ///< what the checks found
  std::vector<BurnRank> ranks;  ///< by rank; a single one for a process alone
};
Json to_json(const BurnOutcome& outcome);
/// Returns the rank whose turn takes longest, and by which share longer than the fastest one's;
/// nullopt for one rank, or if a rank did nothing.
std::optional<std::pair<int, double>> slowest_of(const BurnOutcome& outcome);

/// How to burn in.
struct BurnPlan {
  SdcPlan sdc;  ///< its `work`, `patterns`, `rests` and `repeated` are ignored
  Load load = Load::all;
  double window_seconds = 10;
};

/// Burns in the devices of all ranks, which call it together. It ends early on a thermal slowdown
/// or an uncorrected memory error of any of them. If the team fails, the outcome has this rank
/// only. Error: as check_corruption().
Result<BurnOutcome> burn_in(const BurnPlan& plan, Device& device, Team& team);

}  // namespace assay::health

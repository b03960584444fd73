// Summarizes the telemetry of the time in which a measurement was taken. Pure functions: no clocks,
// no I/O.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "machine/telemetry/trace.h"

namespace assay {

/// Returns the mean of a gauge over [0, window] seconds, linear between ticks and constant beyond
/// them; NaN ticks are skipped. It is the value at 0 if `window` is 0. Empty if there is no value.
std::optional<double> gauge_mean(std::span<const double> seconds, std::span<const double> values,
                                 double window);
/// Returns how far a counter advanced in [0, window], linear between its readings. Empty with fewer
/// than two readings or if it ran backwards.
std::optional<double> counter_advance(std::span<const double> seconds,
                                      std::span<const double> values, double window);

/// Telemetry of one accelerator. An empty field is unknown.
struct GpuTelemetry {
  std::optional<double> clock_mean_hz;  ///< over time, and over all XCDs
  std::optional<double> clock_min_hz;   ///< the lowest at any tick on any XCD
  std::optional<double> xcd_spread;     ///< 1 - slowest XCD's mean clock / fastest one's; empty
                                        ///< also with one clock
  std::optional<double> power_mean_watts, power_max_watts;
  std::optional<double> temperature_max_celsius;
  /// Share of time in which the driver or firmware limited the clock for power or heat. On AMD it
  /// is a lower bound: the share of the most frequent reason.
  std::optional<double> throttled_share;
  std::optional<double> energy_joules;
  /// "counter" of the driver, or "power" integrated where there is no counter or the window is too
  /// short for it; empty: no energy.
  std::string energy_source;
};

/// Telemetry of the host. An empty field is unknown.
struct HostTelemetry {
  std::optional<double> clock_mean_hz;  ///< mean clock of the CPUs used
  std::optional<double> energy_joules;  ///< energy of all CPU packages
  std::optional<double> steal_share;    ///< share of all CPUs' time, taken by the hypervisor
  std::optional<double> others_share;   ///< share of all CPUs' time, used by other processes
  /// Time for which a CPU quota stopped threads, the sum over CPUs
  /// (machine/telemetry/quota_stops.h).
  std::optional<double> cgroup_throttled_seconds;
};

/// Returns the share of all CPUs' time that other programs and the hypervisor used; empty if both
/// are unknown.
std::optional<double> taken_by_others(const HostTelemetry& host);
/// Above this share, the CPUs were too busy for their speed to be representative.
constexpr double much_taken = 0.1;

/// The work done during the telemetry.
struct WorkDone {
  double bytes = 0, flops = 0;  ///< sums over all samples
  double seconds = 0;           ///< sum of the samples
  bool on_cpu = false;          ///< done by the CPUs, not by an accelerator
};

struct TelemetrySummary {
  std::vector<std::pair<std::string, GpuTelemetry>> gpus;  ///< one for each device, "gpu0"
  HostTelemetry host;
  /// Energy of the whole measurement, including pauses between samples, over the work of the
  /// samples: energy of all accelerators, or of the CPU packages if WorkDone::on_cpu. Empty without
  /// a known energy or without such work.
  std::optional<double> joules_per_byte, joules_per_flop;
  std::optional<double> busy_share;  ///< share of the window covered by samples; the rest is pauses
};

/// The form in which a record stores it.
struct Telemetry {
  TelemetryTrace trace;
  TelemetrySummary summary;
};

TelemetrySummary summarize_telemetry(const TelemetryTrace& trace, const WorkDone& work);

}  // namespace assay

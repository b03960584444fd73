// Parses /sys/.../gpu_metrics, the amdgpu driver's binary sensor table, into SI units. A pure
// function of bytes: layouts are those of the kernel's kgd_pp_interface.h, versions 1.3 to 1.8 by
// offset, 1.9 by walking its self-describing attributes. No byte is trusted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

/// How long the firmware has limited the clock since the driver was loaded, in cycles of its
/// control loop. Only differences are meaningful: the increase of one counter divided by the
/// increase of `cycles` is the share of time.
struct ThrottleResidency {
  std::optional<std::uint64_t> cycles;             ///< total cycles of the loop
  std::optional<std::uint64_t> prochot;            ///< an external signal asked for it
  std::optional<std::uint64_t> power;              ///< the socket reached its power limit
  std::optional<std::uint64_t> socket_thermal;     ///< the chip was too hot
  std::optional<std::uint64_t> regulator_thermal;  ///< a voltage regulator was too hot
  std::optional<std::uint64_t> memory_thermal;     ///< the memory was too hot
};

/// A field is empty if the version lacks it or the chip does not support it (all ones; for clocks,
/// 0 too).
struct GpuMetrics {
  int format = 0, content = 0;  ///< the version: 1, 4
  std::string problem;          ///< why everything else is empty; empty if the table was read
  std::vector<double> engine_clocks_hz;  ///< clock of each XCD that reports one
  /// These clocks indexed by XCD: NaN for an XCD that sleeps or reports nothing. Ends after the
  /// last XCD that has an entry, zero included.
  std::vector<double> xcd_clocks_hz;
  std::optional<double> memory_clock_hz;
  std::optional<double> temperature_celsius;  ///< the hottest spot of the chip
  std::optional<double> memory_temperature_celsius;
  std::optional<double> power_watts;  ///< power of the whole socket
  /// Energy since the driver was loaded. Empty before 1.4, where the unit depends on the chip.
  std::optional<double> energy_joules;
  std::optional<double> engine_activity, memory_activity;  ///< share of time busy, 0 to 1
  ThrottleResidency throttle;
  /// Why the clock is limited now, with one bit per reason, the same for all chips. Only in 1.3;
  /// later versions have `throttle`.
  std::optional<std::uint64_t> throttle_reasons;
  std::optional<double> pcie_speed_gts;
  std::optional<std::uint64_t> pcie_width;  ///< lanes
  std::optional<std::uint64_t> pcie_replays, pcie_recoveries;
  /// Sums over all links, since the driver was loaded.
  std::optional<double> xgmi_read_bytes, xgmi_written_bytes;
};

/// Parses the whole file; `problem` says why if it cannot.
GpuMetrics parse_gpu_metrics(std::string_view bytes);

}  // namespace assay

// How often the CPU quota of this process's control group stopped its threads.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

#include "machine/telemetry/kept_file.h"

namespace assay {

class QuotaStops {
 public:
  /// Totals since the control group was made. NaN: unknown.
  struct Counts {
    double seconds = 0;  ///< the sum over CPUs, so two CPUs that wait for 1 s count as 2 s
    double periods = 0;  ///< periods of the quota, 0.1 s by default, in which threads were stopped
  };

  /// `root` is the folder that holds `proc` and `sys`. Returns empty if control groups or their
  /// CPU statistics are not visible there.
  static std::optional<QuotaStops> open(const std::filesystem::path& root);

  /// Reads the counters: one system call.
  Counts read();

 private:
  QuotaStops(KeptFile file, int version);

  KeptFile file_;         // the group's cpu.stat
  std::string_view key_;  // of its line with the time
  double unit_;           // of that time, in seconds
};

}  // namespace assay

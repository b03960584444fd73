// Tunings on several devices: a process of this program on each, with its part of the problems.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"
#include "cli/terminal.h"
#include "compute/device/backend.h"

namespace assay::cli {

/// Where a tuning runs, and what it keeps.
struct TunePlace {
  std::string device;                ///< --device
  std::vector<std::string> devices;  ///< --devices; "all" alone
  std::size_t part = 0, parts = 1;   ///< --part
  std::string folder;                ///< --out
  /// tune_on_each() started this process, and does all that follows on the measurements.
  bool for_parent = false;

  /// The device that this process opens.
  std::string own_device() const {
    return device.empty() && !devices.empty() && devices.front() != "all" ? devices.front()
                                                                          : device;
  }
  /// The names of the devices that --devices means, of the backend with this name.
  std::vector<std::string> device_names(const std::vector<std::unique_ptr<Backend>>& backends,
                                        std::string_view backend) const;
};
/// Error: usage.
Result<TunePlace> read_tune_place(const Arguments& arguments);

/// Notes what cannot be tuned: the first few, of `count` in all.
void note_left_out(const std::vector<std::string>& left_out, std::size_t count, Terminal& terminal);

/// Starts this program with the same arguments on each of `devices`, with a part of the problems,
/// or of the part that `place` names, and a folder of its own in that of `place`; `more` follows
/// the arguments. What they say on standard error is shown, with the device's name before it.
/// Returns their folders when all have ended. Error: interrupted; failed, if one of them failed.
Result<std::vector<std::filesystem::path>> tune_on_each(const Arguments& arguments,
                                                        const TunePlace& place,
                                                        const std::vector<std::string>& devices,
                                                        const std::vector<std::string>& more,
                                                        Terminal& terminal);

}  // namespace assay::cli

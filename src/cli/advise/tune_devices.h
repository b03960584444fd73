// A tuning on several devices: one process of this program per device, each with a share of the
// problems.
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
  std::size_t part = 0, parts = 1;   ///< --part: which part of the problems, from 0, of how many
  std::string folder;                ///< --out
  /// Whether tune_on_each() started this process. Then this process only measures, and its parent
  /// does everything that follows.
  bool for_parent = false;

  /// The name of the device that this process opens; empty: the default device.
  std::string own_device() const {
    return device.empty() && !devices.empty() && devices.front() != "all" ? devices.front()
                                                                          : device;
  }
  /// The names that --devices gives; for "all", those of every device of the backend `backend`.
  std::vector<std::string> device_names(const std::vector<std::unique_ptr<Backend>>& backends,
                                        std::string_view backend) const;
};
/// Error: usage.
Result<TunePlace> read_tune_place(const Arguments& arguments);

/// Prints the first few entries of `left_out`, which name problems that cannot be tuned, and that
/// there are `count` of them.
void note_left_out(const std::vector<std::string>& left_out, std::size_t count, Terminal& terminal);

/// Starts this program once per device with the same arguments, then `more`. Each process gets an
/// equal share of the problems (or of the part that `place` names) and a folder inside that of
/// `place`. Their standard error is shown, each line after the device's name. Returns their folders
/// when all have ended, also if one had nothing to tune. Error: interrupted; failed, with the last
/// line of its standard error, if one of them failed.
Result<std::vector<std::filesystem::path>> tune_on_each(const Arguments& arguments,
                                                        const TunePlace& place,
                                                        const std::vector<std::string>& devices,
                                                        const std::vector<std::string>& more,
                                                        Terminal& terminal);

}  // namespace assay::cli

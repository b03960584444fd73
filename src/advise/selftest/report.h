// The report of a self-test: a file that is sent to whoever wants to know what works on a machine.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "advise/selftest/check_outcome.h"
#include "core/json_fwd.h"
#include "core/result.h"

namespace assay::selftest {

/// What a report says about the machine; nothing in it identifies the machine.
struct Machine {
  std::string device;     ///< name as the driver reports it; empty: no device could be opened
  std::string arch;       ///< "gfx942:sramecc+:xnack-"
  std::string partition;  ///< "CPX/NPS1"; empty: whole device or unknown
  std::uint64_t memory_bytes = 0;  ///< memory of the device
  int multiprocessors = 0;
  bool emulated = false;
  bool small_work = false;  ///< checks use small sizes (Stage::large is false)
  int devices = 0;          ///< devices of this backend
  /// For each of the vendor's libraries its role, such as "runtime", and its version or "not found"
  /// (LibraryFact of compute/device/backend.h).
  std::vector<std::pair<std::string, std::string>> libraries;
};

/// A self-test on one machine.
struct Report {
  std::string assay;   ///< "0.1.0 (9f3c2ab)"
  std::string day;     ///< "2026-11-29", in UTC
  std::string kernel;  ///< the numbers of the operating system's kernel: "6.8.0"
  Machine machine;
  std::vector<CheckOutcome> outcomes;
};

/// Returns a report with this program's version, today's date and this machine's kernel. Its
/// machine and its outcomes are empty.
Report begin_report();

/// Describes the device that `device_choice` means. Error: as open_device()
/// (compute/device/backend.h).
Result<Machine> describe_machine(std::string_view device_choice);

/// Details of outcomes pass through anonymous_text() (anonymous_text.h).
Json to_json(const Report& report);
/// Reads a report, which a stranger may have written. Error: usage, saying what is wrong.
Result<Report> parse_report(std::string_view text);

struct Tally {
  int passed = 0, faults = 0, untested = 0, stopped = 0;
};
/// Counts outcomes; `faults` are those for which is_fault() is true.
Tally count(const std::vector<CheckOutcome>& outcomes);

}  // namespace assay::selftest

// Judges a machine by limits: pure functions of the limits, the records and what the doctor read.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "advise/doctor/doctor.h"
#include "advise/health/limits/limits.h"
#include "machine/system/gpu.h"
#include "machine/system/machine.h"
#include "results/record/record.h"
#include "statistics/summary.h"

namespace assay::health {

enum class LineVerdict {
  pass,
  fail,     ///< what was found is beyond the limit, with its whole interval
  unknown,  ///< the interval contains the limit, or nothing could be measured
};
std::string_view name_of(LineVerdict verdict);  ///< "PASS"

/// What a machine says about itself, as far as limits ask for it.
struct MachineFacts {
  std::vector<Gpu> gpus;  ///< those that this process may use
  std::optional<std::string> command_line;
  std::optional<Interval> memory_bytes;  ///< the kernel may not tell what its firmware reserves
  std::vector<FoldedFinding> findings;   ///< of the doctor
  /// The devices that are accepted, such as "hip:3", each with the reason for which it could not be
  /// measured; empty if it was.
  std::map<std::string, std::string> devices;
  bool emulated = false;  ///< the GPUs are, so that no line of a cell is measured
};
MachineFacts read_machine_facts(const Machine& machine, const Diagnosis& diagnosis);

struct JudgedLine {
  LimitLine line;
  LineVerdict verdict = LineVerdict::unknown;
  std::optional<Interval> found;  ///< of the worst GPU or pair, or the mean, in the line's unit
  std::string subject;            ///< the worst one, "hip:3"; empty if there is only one
  std::size_t subjects = 0;       ///< how many were judged
  std::string reason;             ///< why it is UNKNOWN, or what is wrong

  /// Returns what was found, and of which device: "4.213 TB/s to 4.221 TB/s, hip:3 of 8".
  std::string found_text() const;
};

/// Returns whether an acceptance of this thoroughness measures the line.
bool is_due(const LimitLine& line, Thoroughness thoroughness);
/// Returns whether one process measures the line for the whole node, or several ranks do.
bool is_for_node(const LimitLine& line);
bool is_for_ranks(const LimitLine& line);

/// Judges the lines that are due. A device without a record of a line's cell makes that line
/// UNKNOWN. Lines of several GPUs are left out where there is a single one, unless the limits ask
/// for a number of GPUs. Failed checks of the doctor are lines of their own, which come last.
std::vector<JudgedLine> judge_machine(const Limits& limits, Thoroughness thoroughness,
                                      std::span<const Record> records, const MachineFacts& facts);

/// FAIL if any line fails, else UNKNOWN if any is, else PASS.
LineVerdict verdict_of(std::span<const JudgedLine> lines);

std::string device_name(const DeviceFacts& facts);  ///< "hip:3"
/// Returns the device with its PCI address, if that is known: "hip:3, 0000:3b:00.0".
std::string device_label(const DeviceFacts& facts);

}  // namespace assay::health

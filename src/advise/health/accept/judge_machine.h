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
  fail,  ///< the whole interval is beyond the limit, a result is wrong, an argument of the kernel
         ///< is missing, or a check failed
  unknown,  ///< the interval contains the limit, or nothing could be measured or checked
};
std::string_view name_of(LineVerdict verdict);  ///< "PASS"

/// What a machine says about itself, as far as limits ask for it.
struct MachineFacts {
  std::vector<Gpu> gpus;                    ///< those that this process may use
  std::optional<std::string> command_line;  ///< the kernel's; nullopt: it cannot be read
  /// Size of the host's memory, an interval where the kernel does not tell what firmware reserves.
  std::optional<Interval> memory_bytes;
  std::vector<FoldedFinding> findings;  ///< of the doctor
  /// The devices that are accepted, such as "hip:3", each with the reason for which it could not be
  /// measured; empty if it was.
  std::map<std::string, std::string> devices;
  bool emulated = false;  ///< the GPUs are, so that no line of a cell is measured
};
/// Reads all members but `devices` and `emulated`, which the caller knows.
MachineFacts read_machine_facts(const Machine& machine, const Diagnosis& diagnosis);

/// A line of limits, and what the machine has.
struct JudgedLine {
  LimitLine line;
  LineVerdict verdict = LineVerdict::unknown;
  /// 95% interval of the worst GPU or pair, or of the mean over all, in the line's unit.
  std::optional<Interval> found;
  std::string subject;  ///< the worst one, as device_label(); empty for a mean, or if a line of
                        ///< a cell or a fact has only one
  std::size_t subjects = 0;  ///< how many GPUs, pairs or subjects of a check were judged
  std::string reason;        ///< why it is UNKNOWN, or what is wrong

  /// Returns what was found, and of which device: "4.213 TB/s to 4.221 TB/s, hip:3 of 8".
  std::string found_text() const;
};

/// Returns whether an acceptance of this thoroughness measures the line.
bool is_due(const LimitLine& line, Thoroughness thoroughness);
/// Returns whether the line is a copy between GPUs, which one process measures for the whole node.
bool is_for_node(const LimitLine& line);
/// Returns whether several ranks measure the line together.
bool is_for_ranks(const LimitLine& line);

/// Returns the due lines that several GPUs measure together, if there is a single GPU, no line asks
/// for a number of GPUs, and another line is due; otherwise nothing.
std::vector<LimitLine> left_out_lines(const Limits& limits, Thoroughness thoroughness,
                                      std::span<const Record> records, const MachineFacts& facts);
/// Returns why a single device cannot measure the line, and what measures it there, if anything
/// can.
std::string why_left_out(const LimitLine& line);

/// Judges the lines that are due, except left_out_lines(). A device without a record of a line's
/// cell makes that line UNKNOWN, unless another one fails it. If a single GPU can measure no due
/// line, all of them are UNKNOWN. Checks of the doctor that failed and that no due line names are
/// lines of their own, which come last. If no check failed and there are findings, one line
/// "doctor" passes.
std::vector<JudgedLine> judge_machine(const Limits& limits, Thoroughness thoroughness,
                                      std::span<const Record> records, const MachineFacts& facts);

/// Returns FAIL if any line fails, else UNKNOWN if any is, else PASS.
LineVerdict verdict_of(std::span<const JudgedLine> lines);

std::string device_name(const DeviceFacts& facts);  ///< "hip:3"
/// Returns the device with its PCI address, if that is known: "hip:3, 0000:3b:00.0".
std::string device_label(const DeviceFacts& facts);

}  // namespace assay::health

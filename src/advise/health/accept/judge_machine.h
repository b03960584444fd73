// Judges a machine by limits: pure functions of the limits, the records and what the doctor read.
// A subject below is what a line is judged for: a GPU, a pair of GPUs, or what a check looked at.
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
  fail,  ///< the whole confidence interval is beyond the limit, a result is wrong, an argument of
         ///< the Linux kernel is missing, or a check failed
  unknown,  ///< the interval contains the limit, or nothing could be measured or checked
};
std::string_view name_of(LineVerdict verdict);  ///< "PASS"

/// What a machine says about itself, as far as limits ask for it.
struct MachineFacts {
  std::vector<Gpu> gpus;                    ///< those that this process may use
  std::optional<std::string> command_line;  ///< the Linux kernel's; nullopt: it cannot be read
  /// Size of the host's memory, an interval where Linux does not show what firmware reserves.
  /// Nullopt: it cannot be read.
  std::optional<Interval> memory_bytes;
  std::vector<FoldedFinding> findings;  ///< of the doctor
  /// The devices to judge, such as "hip:3", each with the reason for which it could not be
  /// measured; the reason is empty if it was measured. Devices with records of their own are
  /// judged, too.
  std::map<std::string, std::string> devices;
  bool emulated = false;  ///< whether the GPUs are emulated, so that no cell is measured
};
/// Reads all members but `devices` and `emulated`, which the caller knows.
MachineFacts read_machine_facts(const Machine& machine, const Diagnosis& diagnosis);

/// A line of limits, and what the machine has.
struct JudgedLine {
  LimitLine line;
  LineVerdict verdict = LineVerdict::unknown;
  /// What the worst subject has, in the line's unit: the 95% interval of a measured value, or a
  /// fact of the machine. For a mean, the means of all lower and of all upper ends. Nullopt: no
  /// value.
  std::optional<Interval> found;
  /// The worst subject: "hip:3, 0000:3b:00.0", "from=0 to=3". Empty if a line of a cell or a fact
  /// has only one, and for a mean of values that all could be measured.
  std::string subject;
  std::size_t subjects = 0;  ///< how many were judged
  std::string reason;        ///< why it is UNKNOWN, or what is wrong; what a check found

  /// Returns found, subject and reason: "4.213 TB/s to 4.221 TB/s, hip:3, 0000:3b:00.0 of 8".
  std::string found_text() const;
};

/// Returns whether an acceptance of this thoroughness measures the line.
bool is_due(const LimitLine& line, Thoroughness thoroughness);
/// Returns whether the line is a copy between GPUs, which one process measures for the whole node.
bool is_for_node(const LimitLine& line);
/// Returns whether several ranks measure the line together.
bool is_for_ranks(const LimitLine& line);

/// Returns the due lines that a machine with one GPU is not judged by, because several GPUs measure
/// them together. The list is empty if there are several GPUs, if a line of the limits asks for a
/// number of GPUs, or if no other line is due.
std::vector<LimitLine> left_out_lines(const Limits& limits, Thoroughness thoroughness,
                                      std::span<const Record> records, const MachineFacts& facts);
/// Returns why a single device cannot measure the line, and what measures it there, if anything
/// can.
std::string why_left_out(const LimitLine& line);

/// Judges the lines that are due, except left_out_lines(). Each record of a line's cell is one of
/// its subjects. Facts of GPUs are judged for those that the limits are about. A device without a
/// record of a line's cell makes that line UNKNOWN, unless another device fails it. If there is one
/// GPU and all due lines need several, these lines are UNKNOWN. Each check of the doctor that
/// failed and that no due line names is a line of its own; these come last. If no check failed and
/// there are findings, a line "doctor" passes in their place.
std::vector<JudgedLine> judge_machine(const Limits& limits, Thoroughness thoroughness,
                                      std::span<const Record> records, const MachineFacts& facts);

/// Returns FAIL if any line fails, else UNKNOWN if any is, else PASS, also without lines.
LineVerdict verdict_of(std::span<const JudgedLine> lines);

std::string device_name(const DeviceFacts& facts);  ///< "hip:3"
/// Returns the device with its PCI address, if that is known: "hip:3, 0000:3b:00.0".
std::string device_label(const DeviceFacts& facts);

}  // namespace assay::health

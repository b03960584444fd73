// Limits say what a machine must reach to be accepted. Each kind of machine has a YAML file; those
// in limits/ are embedded in the binary. A file looks like this:
//
//   name: mi300x
//   description: one line
//   devices: [MI300X, 74a1]    # see Limits::devices
//   source: ROCm/system-acceptance-docs, docs/gpus/mi300x.md
//   date: 2026-07-10
//   kind: vendor acceptance    # or specification, or measured population
//   limits:
//     - cell: memory op=copy dtype=f64 size=2GiB cache=hot
//       metric: bandwidth
//       at_least: 4177285
//       unit: MB/s
//     - {machine: kernel-arguments, has: [amd_iommu=on, intel_iommu=on]}    # one is enough
//     - {check: memory-errors}    # a check of `assay doctor`
//   not_covered: [what the source asks for besides]
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "measure/grid/axis.h"
#include "results/record/cell.h"

namespace assay::health {

/// Where a limit comes from.
enum class LimitKind { specification, vendor_acceptance, measured_population };
std::string_view name_of(LimitKind kind);  ///< "vendor acceptance"

/// How thorough an acceptance is. An acceptance measures the lines of its own level and of those
/// before it: a quick line is measured in all three, and a full line only in the full acceptance.
enum class Thoroughness { quick, normal, full };

/// One item of a file's list `limits`: a quantity and its limit. Exactly one of `cell`, `machine`
/// and `check` is set. `axes`, `benchmark`, `cell_to_run` and `metric` are set only with `cell`.
struct LimitLine {
  std::string cell;  ///< as written: "memory op=copy dtype=f64 size=2GiB"
  /// The axes that `cell` sets to a definite value, so not to "all", "auto" or "any", in the
  /// benchmark's spelling. Records with these values are judged.
  std::vector<AxisSetting> axes;
  std::string benchmark;
  Cell cell_to_run;      ///< `cell` with all axes; an axis of devices or ranks may still be "all"
  std::string metric;    ///< "bandwidth"
  std::string machine;   ///< one of machine_facts()
  std::string check;     ///< id of a check of the doctor
  bool at_most = false;  ///< whether `value` is an upper limit; false: a lower one
  double value = 0;      ///< the limit, converted to `unit`
  std::string unit;      ///< the metric's or fact's own: "bytes/s" where the file says "MB/s"
  std::vector<std::string> has;  ///< kernel arguments, one of which must be there
  bool over_mean = false;  ///< the mean over all GPUs, or pairs of GPUs, is judged, not the worst
  Thoroughness thoroughness = Thoroughness::normal;
  LimitKind kind = LimitKind::specification;
  std::string source, date;  ///< where and when it was published or measured, as written
  std::string doubts;  ///< why the limit may be wrong or not comparable; empty: no known reason
  std::string sample;  ///< which nodes a measured limit comes from, as text: key `n` of the file
  int line = 0;        ///< number of the text line in the file

  /// Returns `cell`, followed by ", mean" if `over_mean` is set; or `machine` or `check`, such as
  /// "link-width".
  std::string what() const;
  /// Returns "at least 4.177 TB/s", "one of amd_iommu=on, intel_iommu=on", or "PASS" for a check.
  std::string limit_text() const;
};

struct Limits {
  std::string file;  ///< for messages: "mi300x.yaml" or the given path
  std::string name, description;
  /// The devices that the limits apply to: a part of the name, the whole name after "=", or a PCI
  /// device id, each with the case as written. Empty: all devices.
  std::vector<std::string> devices;
  std::vector<LimitLine> lines;
  std::vector<std::string> not_covered;  ///< what the source asks for but no line judges
};

/// A fact about the machine that a line may limit. Its unit is empty if the fact is a list of
/// words, as the kernel's arguments are.
struct MachineFact {
  std::string_view name, unit;
};
const std::vector<MachineFact>& machine_facts();

/// Formats a value with its unit for the screen: "4.213 TB/s", "16 lanes".
std::string quantity_text(double value, std::string_view unit);

/// Parses a file. Error: usage, "FILE:LINE: what is wrong; what is allowed". A limit of 0 or less
/// is wrong, because every machine would pass or fail it.
Result<Limits> parse_limits(std::string_view yaml, std::string_view file);
/// Reads and parses a file. Error: as read_operand() (core/read_file.h) or parse_limits().
Result<Limits> load_limits(const std::string& path);
/// Returns the embedded limits, sorted by name. Error: usage if an embedded file is malformed.
Result<std::vector<Limits>> built_in_limits();
/// Returns the embedded limits of the device with this name, the first by name if several name it.
/// Error: usage, naming the devices that have limits.
Result<Limits> limits_of_device(std::string_view device_name);

/// Returns whether the limits apply to a device with this name or this PCI device id; an empty one
/// is ignored. Limits that name no devices apply to all.
bool is_about(const Limits& limits, std::string_view name, std::string_view device_id);

/// Returns whether the line judges a record of `cell`: the benchmark and the values of
/// LimitLine::axes are equal. A line without a cell judges no record.
bool matches(const LimitLine& line, const Cell& cell);

}  // namespace assay::health

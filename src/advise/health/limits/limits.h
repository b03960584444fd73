// Limits: what a machine of a kind must reach to be accepted, as YAML files. Those in limits/ are
// embedded in the binary.
//
//   name: mi300x
//   description: one line
//   devices: [MI300X, 74a1]      # parts of the names of its devices, or with = whole names, or PCI
//   ids source: ROCm/system-acceptance-docs, docs/gpus/mi300x.md date: 2026-07-10 kind: vendor
//   acceptance      # or specification, measured population limits:
//     - {cell: memory op=copy dtype=f64 size=2GiB cache=hot, metric: bandwidth, at_least: 4177285,
//     unit: MB/s}
//     - {machine: kernel-arguments, has: [amd_iommu=on, intel_iommu=on]}   # one of them
//     - {check: memory-errors}                                             # of `assay doctor`
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

/// When a line is measured: in every acceptance, except the quick one, or only in the full one.
enum class LineLength { quick, usual, full };

/// One line of a file: a quantity and its limit. Exactly one of `cell`, `machine` and `check` is
/// set.
struct LimitLine {
  std::string cell;  ///< as written: "memory op=copy dtype=f64 size=2GiB"
  /// The axes that `cell` sets to one value, in the benchmark's spelling. Records with these values
  /// are judged.
  std::vector<AxisSetting> axes;
  std::string benchmark;
  Cell first_cell;      ///< what to run; axes of the kind `member` may still be "all"
  std::string metric;   ///< "bandwidth"; of a cell
  std::string machine;  ///< one of machine_facts()
  std::string check;    ///< id of a check of the doctor
  bool at_most = false;
  double value = 0;              ///< in `unit`
  std::string unit;              ///< as metrics have it: "bytes/s"
  std::vector<std::string> has;  ///< kernel arguments, one of which must be there
  bool over_mean = false;        ///< the mean over pairs and devices counts, not the worst
  LineLength length = LineLength::usual;
  LimitKind kind = LimitKind::specification;
  std::string source, date, doubts, n;
  int line = 0;

  /// "memory op=copy dtype=f64 size=2GiB, bandwidth" or "link-width".
  std::string what() const;
  /// "at least 4.177 TB/s", "one of amd_iommu=on, intel_iommu=on", "PASS".
  std::string limit_text() const;
};

struct Limits {
  std::string file;  ///< for messages: "mi300x.yaml" or the given path
  std::string name, description;
  std::vector<std::string> devices;
  std::vector<LimitLine> lines;
  std::vector<std::string> not_covered;
};

/// A fact about the machine that a line may limit, and its unit.
struct MachineFact {
  std::string_view name, unit;
};
const std::vector<MachineFact>& machine_facts();

/// "4.213 TB/s", "16 lanes".
std::string quantity_text(double value, std::string_view unit);

/// Error: usage, "FILE:LINE: what is wrong; what is allowed". A limit that can never fail is wrong.
Result<Limits> parse_limits(std::string_view yaml, std::string_view file);
/// Error: usage if the file cannot be read; as from parse_limits().
Result<Limits> load_limits(const std::string& path);
/// The embedded limits, by name. Error: an embedded file is malformed.
Result<std::vector<Limits>> built_in_limits();
/// The embedded limits of a device with this name. Error: usage, naming the devices that have any.
Result<Limits> limits_of_device(std::string_view device_name);

/// Returns whether the limits are about a device of this name and PCI device id; either may be
/// empty. Limits that name no devices are about all.
bool is_about(const Limits& limits, std::string_view name, std::string_view device_id);

/// Returns whether a record of `cell` belongs to the line.
bool matches(const LimitLine& line, const Cell& cell);

}  // namespace assay::health

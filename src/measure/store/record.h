// One measured cell with everything needed to judge it, and its JSON form (docs/schema.md).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/boxed.h"
#include "core/cell.h"
#include "core/json_fwd.h"
#include "core/result.h"
#include "machine/telemetry/summary.h"
#include "measure/benchmarks/benchmark.h"
#include "measure/sampling/roofline.h"
#include "measure/sampling/sample.h"
#include "ranks/team/team.h"
#include "statistics/summary.h"

namespace assay {

/// `passed`: measured and verified; only then does the record have a value. Metrics reported by
/// another program are kept as evidence whatever the status; `failed` if they cannot be true.
enum class RecordStatus {
  passed,
  failed,       ///< verification found a wrong result
  error,        ///< a call failed while preparing, measuring or verifying
  unsupported,  ///< this device does not support this cell
  interrupted,  ///< stopped before enough samples; samples kept, no value
};

/// The cell's main result, derived from the median and the interval of the seconds.
struct Value {
  Quantity quantity = Quantity::latency;
  double median = 0;
  Interval interval95;  ///< low <= median <= high, in the unit of the quantity
  std::optional<Roof> roof;
  std::optional<double> share;  ///< median / roof rate (or floor seconds / median for latency)
  std::string unit = {};        ///< as a file names it; empty: unit_of(quantity)
};

/// Where a record with metrics comes from: the program that measured and the file.
struct Source {
  std::string tool;        ///< "nccl-tests"
  std::string version;     ///< empty: not reported
  std::string file;        ///< as the user named it; the command line if assay ran the program
  std::uint64_t line = 0;  ///< line of the row, from 1; 0: none
};

/// One of the ranks that measured a cell together.
struct RankResult {
  TeamMember member;
  std::string device;                    ///< "cuda:0", with its PCI address if it has one
  std::optional<double> seconds;         ///< median of its samples
  std::optional<double> inside_seconds;  ///< of single operations: Arrivals::inside
};

struct Record {
  std::string run;   ///< id of the run (process) that measured it
  std::string time;  ///< ISO 8601 UTC, when sampling ended
  Cell cell;
  DeviceFacts device;
  RecordStatus status = RecordStatus::error;
  std::string reason;  ///< empty when passed; else one line
  Boxed<Value> value;
  /// Of another program, the headline first; or what a benchmark reports beside its value.
  std::vector<Metric> metrics;
  std::vector<Curve> curves;
  Boxed<Source> source;  ///< of another program
  Boxed<Work> work;      ///< empty if the cell was never prepared
  Boxed<SampleSet> samples;
  Boxed<Summary> seconds;         ///< of the samples
  std::vector<RankResult> ranks;  ///< empty: a single process
  Boxed<Verification> verification;
  Boxed<Telemetry> telemetry;  ///< during the samples
  std::vector<std::pair<std::string, std::string>> notes;
  std::string fingerprint;  ///< hash of the environment it was measured in
};

/// The note of a record that says which part of a tuning it is from, and that of its search.
inline constexpr std::string_view tuning_note = "tuning", search_part = "search";
/// The axis by which the cells of a tuned benchmark or server differ; a program's cells have its
/// parameters instead.
inline constexpr std::string_view setting_axis = "setting";
/// The note that says why metrics of a record are void (Metric::is_void).
inline constexpr std::string_view void_note = "void";
/// Whether it is a run of a search, which tries a setting to find a better one: nothing to compare.
bool is_trial(const Record& record);
/// Of a CPU's result: the share of its host's CPUs that other programs and the hypervisor took.
/// None of other devices', of emulated ones', and of ranks', which are other programs to each
/// other.
std::optional<double> taken_from_cpus(const Record& record);

/// Null if there is no note of that name.
const std::string* find_note(const Record& record, std::string_view name);

std::string_view name_of(RecordStatus status);
/// "bytes/s", "FLOP/s", "s": the unit of Value::median and its interval.
std::string_view unit_of(Quantity quantity);

/// The object that docs/record.schema.json describes.
Json to_json(const Record& record);
/// Does not trust its input. `device`: the value of "device", if it has been read already. Error:
/// usage, naming the field.
Result<Record> record_from_json(const Json& json, const DeviceFacts* device = nullptr);

}  // namespace assay

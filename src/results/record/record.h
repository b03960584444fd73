// One measured cell with everything that is needed to judge it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/boxed.h"
#include "machine/telemetry/summary.h"
#include "results/record/cell.h"
#include "results/record/device_facts.h"
#include "results/record/metric.h"
#include "results/record/sample.h"
#include "results/record/team_member.h"
#include "results/record/value.h"
#include "results/record/verification.h"
#include "results/record/work.h"
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

}  // namespace assay

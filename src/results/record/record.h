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

/// How measuring a cell ended. Metrics of another program are kept as evidence whatever the status.
enum class RecordStatus {
  passed,       ///< measured and verified; only these records have a value
  failed,       ///< verification found a wrong result, or another program's metrics cannot be true
  error,        ///< a call failed while preparing, measuring or verifying
  unsupported,  ///< this device does not support this cell
  interrupted,  ///< stopped before enough samples; samples kept, no value
};

/// Where a record of another program or of `assay load` comes from: the program and the file.
struct Source {
  std::string tool;        ///< "nccl-tests"
  std::string version;     ///< empty: not reported
  std::string file;        ///< as the user named it; the command line if assay ran the program
  std::uint64_t line = 0;  ///< line of the row, from 1; 0: none
};

/// One of the ranks that measured a cell together.
struct RankResult {
  TeamMember member;
  std::string device;             ///< "cuda:0", with its PCI address if it has one
  std::optional<double> seconds;  ///< median of its samples, per repetition; empty: it took no part
  std::optional<double> inside_seconds;  ///< SampleSet::inside of this rank
};

struct Record {
  std::string run;   ///< id of the process that measured it, or made from the imported file
  std::string time;  ///< ISO 8601 UTC: when measuring the cell ended; empty: unknown
  Cell cell;
  DeviceFacts device;
  RecordStatus status = RecordStatus::error;
  std::string reason;  ///< empty when passed; else one line
  Boxed<Value> value;
  /// Another program's metrics, the headline first; or what a benchmark reports besides its value.
  std::vector<Metric> metrics;
  std::vector<Curve> curves;
  Boxed<Source> source;  ///< only for results of another program or of `assay load`
  Boxed<Work> work;      ///< empty if the cell was never prepared
  Boxed<SampleSet> samples;
  Boxed<Summary> seconds;         ///< summary of the samples
  std::vector<RankResult> ranks;  ///< empty: a single process
  Boxed<Verification> verification;
  Boxed<Telemetry> telemetry;                              ///< during the samples
  std::vector<std::pair<std::string, std::string>> notes;  ///< name and text
  /// The environment it was measured in: fingerprint_id() (results/store/store.h). Empty for
  /// results of other programs.
  std::string fingerprint;
};

/// The note that tells which part of a tuning a record belongs to, and its text for the search.
/// Other parts have other texts (advise/tune/tuning.h).
inline constexpr std::string_view tuning_note = "tuning", search_part = "search";
/// The axis that distinguishes the cells of a tuned benchmark or server; cells of a tuned program
/// have its parameters instead.
inline constexpr std::string_view setting_axis = "setting";
/// The note with the reason why metrics of a record are void (Metric::is_void).
inline constexpr std::string_view void_note = "void";
/// Returns whether the record is a run of a search, which tries a setting to find a better one and
/// is not compared.
bool is_trial(const Record& record);
/// Returns the share, 0 to 1, of the time of all the host's CPUs that other programs and the
/// hypervisor took during a CPU's result. Empty without a value, if its telemetry does not show it,
/// for other devices, for emulated ones, and for ranks, which count as other programs for each
/// other.
std::optional<double> taken_from_cpus(const Record& record);

/// Returns the text of a note; null if there is no note of that name.
const std::string* find_note(const Record& record, std::string_view name);

std::string_view name_of(RecordStatus status);

}  // namespace assay

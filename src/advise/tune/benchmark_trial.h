// Trials of settings with one of assay's own benchmarks: a run's records, and its speed over all
// cells.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "advise/tune/settings.h"
#include "advise/tune/tuning.h"
#include "core/result.h"
#include "results/record/record.h"

namespace assay {

/// Returns the cell with one more axis, setting_axis, whose value is text_of(settings).
Cell with_setting(const Cell& cell, const Settings& settings);

/// Runs `assay run` in a child process and returns its records. `words` is its command line, which
/// begins with assay's own path and makes it print records; `settings` are set in its environment.
/// The records have the settings on setting_axis. Error: unavailable if it cannot be started;
/// interrupted; failed if it printed no record, died, or took longer than `most_seconds`; as
/// record_from_json() (results/store/record_json.h) if a record is damaged.
Result<std::vector<Record>> run_benchmark(const std::vector<std::string>& words,
                                          const Settings& settings, double most_seconds,
                                          const std::function<bool()>& stop_requested);

/// Returns speeds by the cell's id without the setting: a rate, or 1 / seconds. Only passed cells
/// with a value count.
std::map<std::string, double> speeds_of(const std::vector<Record>& records);

/// Scores runs by the mean logarithm of the speeds of all cells, which is that of their geometric
/// mean.
class BenchmarkScore {
 public:
  /// Scores one run, which has at least one record. The first run that measured anything defines
  /// the cells that must be measured. A run that lacks one of them, in which a supported cell
  /// failed, or whose device is emulated, has no score.
  TrialScore operator()(const std::vector<Record>& records);

 private:
  std::map<std::string, double> first_;
};

}  // namespace assay

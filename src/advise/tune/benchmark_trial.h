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

/// The cell with the settings on its setting_axis.
Cell with_setting(const Cell& cell, const Settings& settings);

/// The records of `assay run` in a process of its own. `words` begin with assay's own path and
/// print records; `settings` are in the environment. Error: unavailable, if it cannot be started;
/// interrupted; failed, with the last line of its standard error, if it printed no record, died or
/// took longer than `most_seconds`.
Result<std::vector<Record>> run_benchmark(const std::vector<std::string>& words,
                                          const Settings& settings, double most_seconds,
                                          const std::function<bool()>& stop_requested);

/// By cell as its benchmark names it: a rate, or 1 / seconds; passed cells only.
std::map<std::string, double> speeds_of(const std::vector<Record>& records);

/// Scores runs by the geometric mean of the speeds of all cells.
class BenchmarkScore {
 public:
  /// The first run that measured anything says which cells this device supports. A setting with
  /// which one of them fails, or was not come to, is no candidate.
  TrialScore operator()(const std::vector<Record>& records);

 private:
  std::map<std::string, double> first_;
};

}  // namespace assay

// Results arranged for comparison: units (runs), each with a value for every cell and metric. They
// come from a store, a campaign's environment, or files of other programs.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/json.h"
#include "judge/compare/disturbance.h"
#include "judge/compare/record_faults.h"
#include "results/record/record.h"

namespace assay {

/// Identifies what is compared: one metric of one cell.
struct SeriesKey {
  std::string cell;    ///< Cell::id()
  std::string metric;  ///< "bandwidth", "busbw", "mean_ttft"
  auto operator<=>(const SeriesKey&) const = default;
};

/// One unit's result for one series.
struct Point {
  std::size_t unit = 0;       ///< index into ResultSet::units
  double value = 0;           ///< the median of the unit's samples, or what another program reports
  double low = 0, high = 0;   ///< 95% interval within the unit; both `value` if unknown
  std::size_t samples = 0;    ///< 0: unknown
  std::size_t throttled = 0;  ///< how many of them are Sample::throttled
};

/// The results of all units for one metric of one cell.
struct Series {
  SeriesKey key;
  std::string benchmark;
  std::vector<std::pair<std::string, std::string>> axes;  ///< names and values
  std::string unit;                                       ///< "bytes/s", "s", ...
  Better better = Better::higher;
  std::optional<Roof> roof;   ///< in `unit`
  std::vector<Amount> work;   ///< work of the first record
  std::vector<Point> points;  ///< sorted by unit
};

/// One run, or one process of a campaign, with a result that passed.
struct Unit {
  std::string run;
  std::string time;         ///< UTC; empty if unknown
  std::string fingerprint;  ///< id; empty if unknown
  std::string device;
  /// Units of one pair were measured one after the other. Empty without a campaign, or if the
  /// campaign's unit is incomplete.
  std::optional<std::size_t> pair;
  bool emulated = false;        ///< the device is emulated, so values come from a model
  std::optional<double> taken;  ///< the largest taken_from_cpus() of its results, if known
};

/// Figures besides speed, which are not judged but belong to a verdict: whether a model learnt the
/// same, and with how much memory.
struct SideFigure {
  std::string unit;
  std::vector<double> values;  ///< one for each result that has it
};

/// Figures of a cell that are invalid in some run; they are neither judged nor drawn.
struct VoidFigures {
  std::string reason;
  std::set<std::string> quantities;  ///< "ttft", "e2el"
};

/// What was measured in one environment.
struct ResultSet {
  std::string name;                ///< name of the environment, or the path as given
  bool paired = false;             ///< units have pairs
  std::size_t pairs_per_draw = 1;  ///< consecutive pairs whose order one draw decided
  std::vector<Unit> units;         ///< in time order
  std::vector<Series> series;      ///< sorted by key; series of Better::neither are left out
  std::map<SeriesKey, SideFigure> beside;     ///< figures besides speed
  std::map<std::string, std::string> faults;  ///< keyed by cell: why it cannot be judged
  std::map<std::string, VoidFigures> voids;   ///< keyed by cell
  std::vector<Json> fingerprints;             ///< fingerprints of the units, without duplicates
  /// "run ...: memory op=...: error: ...", skipped lines, and remarks about results that count,
  /// such as throttled samples.
  std::vector<std::string> problems;

  const Series* find(const SeriesKey& key) const;  ///< null if there is none
  /// Returns why a cell cannot be judged; empty if it can.
  std::string fault_of(const std::string& cell) const;
  bool emulated() const;            ///< whether any unit is emulated
  Disturbance disturbance() const;  ///< over all units
};

/// Converts every record that passed to a point of each metric that can be compared (figures_of()).
/// Trials of a search are left out. If a run has several values of a series, the last one counts.
ResultSet result_set_of(const std::vector<Record>& records, std::string name);

}  // namespace assay

// Results arranged for comparison: units (runs), each with a value for every cell and metric. Made
// from a store, a campaign's environment, or files of other programs.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/json.h"
#include "judge/compare/record_faults.h"
#include "results/record/record.h"

namespace assay {

/// What is compared: one metric of one cell.
struct SeriesKey {
  std::string cell;    ///< Cell::id()
  std::string metric;  ///< "bandwidth", "busbw", "mean_ttft"
  auto operator<=>(const SeriesKey&) const = default;
};

/// One unit's result for one series.
struct Point {
  std::size_t unit = 0;      ///< index into ResultSet::units
  double value = 0;          ///< the median of the unit's samples, or what another program reports
  double low = 0, high = 0;  ///< 95% interval within the unit; both `value` if unknown
  std::size_t samples = 0;   ///< 0: unknown
  std::size_t throttled = 0;
};

struct Series {
  SeriesKey key;
  std::string benchmark;
  std::vector<std::pair<std::string, std::string>> axes;
  std::string unit;  ///< "bytes/s", "s", ...
  Better better = Better::higher;
  std::optional<Roof> roof;   ///< in `unit`
  std::vector<Amount> work;   ///< of the first unit
  std::vector<Point> points;  ///< by unit
};

struct Unit {
  std::string run;
  std::string time;         ///< UTC; empty if unknown
  std::string fingerprint;  ///< id; empty if unknown
  std::string device;
  std::optional<std::size_t> pair;  ///< units of one pair were measured one after the other
  bool emulated = false;            ///< of an emulated device: its values come from a model
};

/// What the units came to besides speed, which nobody judges but whoever reads a verdict asks for:
/// that a model learnt the same, in as much memory.
struct SideFigure {
  std::string unit;
  std::vector<double> values;
};

/// Figures of a cell that do not hold in some run: there they are neither judged nor drawn.
struct VoidFigures {
  std::string reason;
  std::set<std::string> quantities;  ///< "ttft", "e2el"
};

struct ResultSet {
  std::string name;                ///< of the environment, or the path as given
  bool paired = false;             ///< units have pairs
  std::size_t pairs_per_draw = 1;  ///< consecutive pairs whose order one draw decided
  std::vector<Unit> units;         ///< in time order
  std::vector<Series> series;      ///< sorted by key; without those of Better::neither
  std::map<SeriesKey, SideFigure> beside;
  std::map<std::string, std::string> faults;  ///< by cell: why it cannot be judged
  std::map<std::string, VoidFigures> voids;   ///< by cell
  std::vector<Json> fingerprints;             ///< of the units, each once
  double most_taken = 0;              ///< the most that taken_from_cpus() says of any result
  std::vector<std::string> problems;  ///< "run ...: memory op=...: error: ...", skipped lines, and
                                      ///< loads whose prompts were in a cache

  const Series* find(const SeriesKey& key) const;  ///< null if there is none
  /// Why a cell cannot be judged; empty: it can.
  std::string fault_of(const std::string& cell) const;
  bool emulated() const;  ///< whether any unit is
};

/// Every verified record becomes a point of each of its metrics.
ResultSet result_set_of(const std::vector<Record>& records, std::string name);

}  // namespace assay

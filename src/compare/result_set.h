// Results as comparing needs them: units (runs), each with a value for every cell and metric. Made
// from a store, a campaign's environment or files of other programs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "store/record.h"

namespace assay {

/// What is compared: one metric of one cell.
struct SeriesKey {
  std::string cell;    ///< Cell::id()
  std::string metric;  ///< "bandwidth", "busbw", "mean_ttft"
  auto operator<=>(const SeriesKey&) const = default;
};

/// One unit's result for one series.
struct Point {
  std::size_t unit = 0;  ///< index into ResultSet::units
  double value = 0;      ///< the median of the unit's samples, or what the other program reports
  double low = 0, high = 0;  ///< 95% interval within the unit; equal to value if unknown
  std::size_t samples = 0;   ///< 0: unknown
  double throttled_share = 0;
};

struct Series {
  SeriesKey key;
  std::string benchmark;
  std::vector<std::pair<std::string, std::string>> axes;
  std::string unit;  ///< "bytes/s", "s", ...
  Better better = Better::higher;
  std::optional<double> roof;  ///< in `unit`, of the first record that has one
  std::string roof_source;
  std::vector<Point> points;  ///< by unit
  std::vector<std::string>
      faults;  ///< why it cannot be judged: "run X: failed: ..."; empty: it can
};

struct Unit {
  std::string run;
  std::string time;         ///< UTC
  std::string fingerprint;  ///< id, empty if unknown
  std::string device;
  std::optional<std::size_t> pair;  ///< of the campaign; units of one pair were measured adjacently
};

struct ResultSet {
  std::string name;  ///< of the environment, or the path as given
  std::string path;
  bool imported = false;
  std::vector<Unit> units;            ///< in time order
  std::vector<Series> series;         ///< sorted by key
  std::vector<Json> fingerprints;     ///< the different ones
  std::vector<std::string> problems;  ///< lines that were skipped, warnings of importers

  const Series* find(const SeriesKey& key) const;  ///< null if there is none
};

/// Every record becomes a point of each of its metrics.
ResultSet result_set_of(const std::vector<Record>& records, std::string name);

/// `operand`: a store (folder or .jsonl file), DIR:RUN one run of it, a file of another program or
/// a folder of such files (each one unit), or CAMPAIGN/ENVIRONMENT. Error: usage, naming the path.
Result<ResultSet> load_result_set(const std::string& operand);

}  // namespace assay

#include "compare/result_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "measure/sample.h"

namespace assay {
namespace {

/// Collects records, whose cells and runs come in any order.
class Collector {
 public:
  explicit Collector(std::string name) { set_.name = std::move(name); }

  void add(const Record& record) {
    const std::string cell = record.cell.id();
    if (const auto fault = fault_of(record)) set_.faults.emplace(cell, *fault);
    if (record.status != RecordStatus::passed) {
      set_.problems.push_back(fmt::format("run {}: {}: {}: {}", record.run, cell,
                                          name_of(record.status), record.reason));
      return;
    }
    const std::size_t unit = unit_of_run(record);
    if (record.value) add_value(record, cell, unit);
    for (const Metric& metric : record.metrics) {
      if (metric.better == Better::neither) continue;
      Series& series = series_of(record, {cell, metric.name});
      series.unit = metric.unit;
      series.better = metric.better;
      series.points.push_back({unit, metric.value, metric.value, metric.value, 0, 0});
    }
  }

  ResultSet finish() {
    order_units();
    std::sort(set_.series.begin(), set_.series.end(),
              [](const Series& a, const Series& b) { return a.key < b.key; });
    return std::move(set_);
  }

 private:
  std::size_t unit_of_run(const Record& record) {
    const auto [at, fresh] = units_.emplace(record.run, set_.units.size());
    if (fresh) {
      set_.units.push_back(
          {record.run, record.time, record.fingerprint, record.device.name, std::nullopt});
    }
    return at->second;
  }

  void add_value(const Record& record, const std::string& cell, std::size_t unit) {
    const Value& value = *record.value;
    Series& series = series_of(record, {cell, std::string(name_of(value.quantity))});
    series.unit = unit_of(value.quantity);
    series.better = value.quantity == Quantity::latency ? Better::lower : Better::higher;
    if (!series.roof && value.quantity != Quantity::latency) series.roof = value.roof;
    Point point{unit, value.median, value.interval95.low, value.interval95.high, 0, 0};
    if (record.samples) {
      point.samples = record.samples->samples.size();
      point.throttled = static_cast<std::size_t>(
          std::count_if(record.samples->samples.begin(), record.samples->samples.end(),
                        [](const Sample& sample) { return sample.throttled; }));
    }
    series.points.push_back(point);
  }

  Series& series_of(const Record& record, SeriesKey key) {
    const auto [at, fresh] = index_.emplace(key.cell + '\n' + key.metric, set_.series.size());
    if (fresh) {
      Series series;
      series.key = std::move(key);
      series.benchmark = record.cell.benchmark();
      series.axes = record.cell.values();
      series.work = amounts_of(record);
      set_.series.push_back(std::move(series));
    }
    return set_.series[at->second];
  }

  /// Runs may have been appended to the store side by side.
  void order_units() {
    std::vector<std::size_t> order(set_.units.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return set_.units[a].time < set_.units[b].time;
    });
    std::vector<std::size_t> place(order.size());
    std::vector<Unit> units;
    for (std::size_t i = 0; i < order.size(); ++i) {
      place[order[i]] = i;
      units.push_back(std::move(set_.units[order[i]]));
    }
    set_.units = std::move(units);
    for (Series& series : set_.series) {
      for (Point& point : series.points) point.unit = place[point.unit];
      keep_last_of_each_unit(series);
    }
  }

  void keep_last_of_each_unit(Series& series) {
    std::stable_sort(series.points.begin(), series.points.end(),
                     [](const Point& a, const Point& b) { return a.unit < b.unit; });
    std::vector<Point> points;
    for (const Point& point : series.points) {
      if (!points.empty() && points.back().unit == point.unit) {
        set_.problems.push_back(fmt::format("run {}: {} {} is there twice; the last one counts",
                                            set_.units[point.unit].run, series.key.cell,
                                            series.key.metric));
        points.back() = point;
      } else {
        points.push_back(point);
      }
    }
    series.points = std::move(points);
  }

  ResultSet set_;
  std::unordered_map<std::string, std::size_t> units_, index_;
};

}  // namespace

const Series* ResultSet::find(const SeriesKey& key) const {
  const auto at =
      std::lower_bound(series.begin(), series.end(), key,
                       [](const Series& entry, const SeriesKey& k) { return entry.key < k; });
  return at != series.end() && at->key == key ? &*at : nullptr;
}

ResultSet result_set_of(const std::vector<Record>& records, std::string name) {
  Collector collector(std::move(name));
  for (const Record& record : records) collector.add(record);
  return collector.finish();
}

}  // namespace assay

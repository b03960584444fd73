#include "judge/compare/result_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>
#include <unordered_map>

#include "results/record/sample.h"
#include "results/store/comparable_metrics.h"

namespace assay {
namespace {

/// Returns whether a metric of training is shown beside its speed: its rate in others' units,
/// memory, and losses that do not depend on the number of steps.
bool stands_beside(const std::string& metric) {
  return metric == "sample_rate" || metric == "memory" || metric.starts_with("loss_at_step_");
}

/// Returns "ttft" for "p99_9_ttft" and "mean_ttft": the quantity that a statistic describes.
std::string quantity_of(std::string_view metric) {
  const auto is_statistic = [](std::string_view word) {
    if (word.starts_with('p')) word.remove_prefix(1);
    const bool number = !word.empty() && word.find_first_not_of("0123456789") == word.npos;
    return number || word == "mean" || word == "median" || word == "std";
  };
  for (std::size_t end = metric.find('_');
       end != metric.npos && is_statistic(metric.substr(0, end)); end = metric.find('_')) {
    metric.remove_prefix(end + 1);
  }
  return std::string(metric);
}

/// Collects records; their cells and runs may come in any order.
class Collector {
 public:
  explicit Collector(std::string name) { set_.name = std::move(name); }

  void add(const Record& record) {
    if (is_trial(record)) return add_trial(record);
    const std::string cell = record.cell.id();
    if (const auto fault = fault_of(record)) set_.faults.emplace(cell, *fault);
    if (record.status != RecordStatus::passed) {
      set_.problems.push_back(fmt::format("run {}: {}: {}: {}", record.run, cell,
                                          name_of(record.status), record.reason));
      return;
    }
    for (const Metric& metric : record.metrics) {
      if (!metric.is_void) continue;
      const std::string* const why = find_note(record, void_note);
      VoidFigures& figures = set_.voids[cell];
      figures.reason = why == nullptr ? "for an unknown reason" : *why;
      figures.quantities.insert(quantity_of(metric.name));
    }
    for (const Metric& metric : record.metrics) {
      if (metric.name != "prefix_cache_hit_rate") continue;
      double& most = prompt_hits_[cell];
      most = std::max(most, metric.value);
    }
    const std::size_t unit = unit_of_run(record);
    if (const auto taken = taken_from_cpus(record)) {
      std::optional<double>& most = set_.units[unit].taken;
      most = std::max(most.value_or(0), *taken);
    }
    std::size_t samples = 0, throttled = 0;
    if (record.samples) {
      samples = record.samples->samples.size();
      throttled = static_cast<std::size_t>(
          std::count_if(record.samples->samples.begin(), record.samples->samples.end(),
                        [](const Sample& sample) { return sample.throttled; }));
    }
    samples_ += samples;
    throttled_ += throttled;
    count_stops(record);
    for (const Metric& metric : record.metrics) {
      if (metric.better != Better::neither || !stands_beside(metric.name)) continue;
      SideFigure& figure = set_.beside[{cell, metric.name}];
      figure.unit = metric.unit;
      figure.values.push_back(metric.value);
    }
    for (const Figure& figure : figures_of(record)) {
      Series& series = series_of(record, {cell, figure.metric});
      if (!series.points.empty() && series.unit != figure.unit) {
        set_.faults.emplace(cell, fmt::format("{} is in {} in one run and in {} in another",
                                              figure.metric, series.unit, figure.unit));
        continue;
      }
      series.unit = figure.unit;
      series.better = figure.better;
      // A roof is a rate, so a latency has none, and neither has another program's number.
      if (!series.roof && record.value && record.value->quantity != Quantity::latency) {
        series.roof = record.value->roof;
      }
      series.points.push_back(
          {unit, figure.value, figure.interval95.low, figure.interval95.high, samples, throttled});
    }
  }

  ResultSet finish() {
    order_units();
    tell_several_values();
    tell_failed_trials();
    tell_throttled();
    tell_stopped();
    tell_voids();
    constexpr double least_hits = 0.01;
    for (const auto& [cell, hits] : prompt_hits_) {
      if (hits < least_hits) continue;
      set_.problems.push_back(fmt::format(
          "{}: up to {:.3g}% of the prompts' tokens came from the server's prefix cache, which "
          "makes it faster",
          cell, hits * 100));
    }
    std::sort(set_.series.begin(), set_.series.end(),
              [](const Series& a, const Series& b) { return a.key < b.key; });
    return std::move(set_);
  }

 private:
  /// Trials are not compared; failed ones are summarized in one message.
  void add_trial(const Record& record) {
    ++trials_;
    if (record.status != RecordStatus::passed) ++failed_trials_[record.reason];
  }
  void tell_failed_trials() {
    if (failed_trials_.empty()) return;
    std::size_t failed = 0;
    for (const auto& [reason, count] : failed_trials_) failed += count;
    const auto most =
        std::max_element(failed_trials_.begin(), failed_trials_.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    set_.problems.push_back(fmt::format("{} of {} runs of a search failed, most often ({}): {}",
                                        failed, trials_, most->second, most->first));
  }

  void tell_voids() {
    for (const auto& [cell, figures] : set_.voids) {
      set_.problems.push_back(fmt::format("{}: void in part: {}", cell, figures.reason));
    }
  }

  void tell_throttled() {
    constexpr double least_share = 0.01;
    const double share = static_cast<double>(throttled_) / static_cast<double>(samples_);
    if (samples_ == 0 || share < least_share) return;
    set_.problems.push_back(fmt::format(
        "{:.0f}% of its samples were throttled ({} of {}): their clock was below 90% of the "
        "device's highest",
        100 * share, throttled_, samples_));
  }

  /// A thread that waits for the next period of a quota is not throttled by its clock.
  void count_stops(const Record& record) {
    if (!record.telemetry) return;
    const auto stopped = record.telemetry->summary.host.cgroup_throttled_seconds;
    if (!stopped) return;
    constexpr double least_share = 0.01;
    ++watched_;
    if (*stopped > least_share * record.telemetry->trace.window) ++stopped_;
  }
  void tell_stopped() {
    if (stopped_ == 0) return;
    set_.problems.push_back(fmt::format(
        "its CPU limit stopped threads while {} of {} results were measured", stopped_, watched_));
  }

  std::size_t unit_of_run(const Record& record) {
    const auto [at, fresh] = units_.emplace(record.run, set_.units.size());
    if (fresh) {
      set_.units.push_back({record.run, record.time, record.fingerprint, record.device.name,
                            std::nullopt, record.device.emulated, std::nullopt});
    }
    return at->second;
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

  /// Several runs may have appended to the store at the same time.
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
    std::vector<Point> kept;
    for (auto point = series.points.begin(); point != series.points.end();) {
      const auto next = std::find_if(point, series.points.end(),
                                     [&](const Point& other) { return other.unit != point->unit; });
      warn_of_several_values(series, {point, next});
      kept.push_back(*(next - 1));
      point = next;
    }
    series.points = std::move(kept);
  }

  /// `points` belong to one run. A value that was stored twice needs no warning; one measured twice
  /// does.
  void warn_of_several_values(const Series& series, std::span<const Point> points) {
    constexpr std::size_t most_named = 5;
    const double first = points.front().value;
    if (std::ranges::all_of(points, [&](const Point& point) { return point.value == first; })) {
      return;
    }
    auto& [values, others] = repeated_[{points.front().unit, series.key.cell}];
    if (!values.empty()) {
      ++others;
      return;
    }
    for (const Point& point : points.first(std::min(points.size(), most_named))) {
      values += fmt::format("{}{:.6g}", values.empty() ? "" : ", ", point.value);
    }
    if (points.size() > most_named) {
      values += fmt::format(" and {} more", points.size() - most_named);
    }
    values = fmt::format("{} {} {}", series.key.metric, values, series.unit);
  }
  void tell_several_values() {
    for (const auto& [place, told] : repeated_) {
      const auto& [values, others] = told;
      set_.problems.push_back(fmt::format(
          "run {} has several values of {}, of which the last one counts: {}{}",
          set_.units[place.first].run, place.second, values,
          others == 0 ? ""
                      : fmt::format("; and of {} more metric{}", others, others == 1 ? "" : "s")));
    }
  }

  ResultSet set_;
  std::unordered_map<std::string, std::size_t> units_, index_;
  std::size_t trials_ = 0;
  /// Keyed by unit and cell: the values of one metric, and how many other metrics have several
  /// values.
  std::map<std::pair<std::size_t, std::string>, std::pair<std::string, std::size_t>> repeated_;
  std::size_t samples_ = 0, throttled_ = 0;  ///< over all records
  /// Results for which stops by a CPU quota are known, and those with such stops.
  std::size_t watched_ = 0, stopped_ = 0;
  std::map<std::string, std::size_t> failed_trials_;  ///< keyed by reason
  std::map<std::string, double> prompt_hits_;  ///< keyed by cell; the largest share over all runs
};

}  // namespace

const Series* ResultSet::find(const SeriesKey& key) const {
  const auto at =
      std::lower_bound(series.begin(), series.end(), key,
                       [](const Series& entry, const SeriesKey& k) { return entry.key < k; });
  return at != series.end() && at->key == key ? &*at : nullptr;
}

std::string ResultSet::fault_of(const std::string& cell) const {
  const auto at = faults.find(cell);
  return at == faults.end() ? "" : at->second;
}

bool ResultSet::emulated() const {
  return std::any_of(units.begin(), units.end(), [](const Unit& unit) { return unit.emulated; });
}

Disturbance ResultSet::disturbance() const {
  Disturbance all;
  for (const Unit& unit : units) {
    if (unit.taken) all.add(*unit.taken);
  }
  return all;
}

ResultSet result_set_of(const std::vector<Record>& records, std::string name) {
  Collector collector(std::move(name));
  for (const Record& record : records) collector.add(record);
  return collector.finish();
}

}  // namespace assay

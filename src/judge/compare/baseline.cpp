#include "judge/compare/baseline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/json.h"
#include "judge/compare/emulated.h"
#include "results/store/comparable_metrics.h"
#include "statistics/multiplicity.h"
#include "statistics/outliers.h"

namespace assay {
namespace {

/// Decides which points stay.
class Selection {
 public:
  Selection(Baseline& baseline, const BaselineRule& rule) : baseline_(baseline), rule_(rule) {}

  void run() {
    drop_unusable();
    drop_outliers();
    drop_short_series();
    drop_unused_units();
  }

  std::size_t most_units() const { return most_units_; }

 private:
  void leave_out(const Series& series, const Point& point, std::string reason) {
    baseline_.left_out.push_back({baseline_.results.units[point.unit].run, series.key.cell,
                                  series.key.metric, std::move(reason)});
  }

  /// Removes the points for which `reason` returns a text.
  template <typename Reason>
  void drop(Series& series, const Reason& reason) {
    std::vector<Point> kept;
    for (const Point& point : series.points) {
      std::string why = reason(point);
      if (why.empty()) {
        kept.push_back(point);
      } else {
        leave_out(series, point, std::move(why));
      }
    }
    series.points = std::move(kept);
  }

  void drop_unusable() {
    for (Series& series : baseline_.results.series) {
      drop(series, [&](const Point& point) -> std::string {
        if (!log_time(point.value, series.better)) {
          return fmt::format("a value of {} cannot be compared", point.value);
        }
        if (!(point.low <= point.value && point.value <= point.high)) {
          return "its interval does not contain its value";
        }
        const auto throttled = static_cast<double>(point.throttled);
        if (!rule_.allow_throttled &&
            throttled > rule_.max_throttled_share * static_cast<double>(point.samples)) {
          return fmt::format("throttled in {} of {} samples", point.throttled, point.samples);
        }
        return "";
      });
    }
  }

  /// Applies Holm's correction over all series and units at once, as for fleets.
  void drop_outliers() {
    std::vector<double> p;
    for (const Series& series : baseline_.results.series) {
      std::vector<double> logs;
      for (const Point& point : series.points) {
        logs.push_back(*log_time(point.value, series.better));
      }
      const std::vector<double> of_series = outlier_p(logs);
      p.insert(p.end(), of_series.begin(), of_series.end());
    }
    const std::vector<bool> odd = holm(p, rule_.alpha);
    std::size_t at = 0;
    for (Series& series : baseline_.results.series) {
      drop(series, [&](const Point&) {
        const std::size_t i = at++;
        return odd[i] ? fmt::format("an outlier among the runs: p = {:.2g}", p[i]) : std::string();
      });
    }
  }

  void drop_short_series() {
    std::vector<Series> kept;
    for (Series& series : baseline_.results.series) {
      const std::size_t count = series.points.size();
      most_units_ = std::max(most_units_, count);
      if (count >= least_baseline_runs) {
        kept.push_back(std::move(series));
      } else {
        baseline_.left_out.push_back({"", series.key.cell, series.key.metric,
                                      fmt::format("{} run{} left; at least {} are needed", count,
                                                  count == 1 ? "" : "s", least_baseline_runs)});
      }
    }
    baseline_.results.series = std::move(kept);
  }

  void drop_unused_units() {
    ResultSet& results = baseline_.results;
    std::vector<bool> used(results.units.size(), false);
    for (const Series& series : results.series) {
      for (const Point& point : series.points) used[point.unit] = true;
    }
    std::vector<std::size_t> place(used.size());
    std::vector<Unit> units;
    for (std::size_t i = 0; i < used.size(); ++i) {
      place[i] = units.size();
      if (used[i]) units.push_back(std::move(results.units[i]));
    }
    results.units = std::move(units);
    for (Series& series : results.series) {
      for (Point& point : series.points) point.unit = place[point.unit];
    }
    std::erase_if(baseline_.fingerprints, [&](const auto& entry) {
      return std::none_of(results.units.begin(), results.units.end(),
                          [&](const Unit& unit) { return unit.fingerprint == entry.first; });
    });
  }

  Baseline& baseline_;
  const BaselineRule& rule_;
  std::size_t most_units_ = 0;
};

void name_mixture(Baseline& baseline) {
  std::set<std::string> devices;
  for (const Unit& unit : baseline.results.units) devices.insert(unit.device);
  if (devices.size() < 2) return;
  baseline.problems.push_back(
      fmt::format("the runs are from {} kinds of device: {}", devices.size(),
                  fmt::join(std::vector<std::string>(devices.begin(), devices.end()), ", ")));
}

}  // namespace

Result<Baseline> make_baseline(const std::vector<std::string>& operands, const BaselineRule& rule) {
  Baseline baseline;
  baseline.rule = rule;
  std::vector<Record> records;
  std::map<std::string, std::size_t> operand_of_run;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    Evidence evidence = TRY(load_evidence(operands[i]));
    for (Record& record : evidence.records) {
      const std::size_t first = operand_of_run.emplace(record.run, i).first->second;
      if (first == i) {
        records.push_back(std::move(record));
      } else {
        baseline.left_out.push_back({record.run, record.cell.id(), "",
                                     fmt::format("{} has a run with this id", operands[first])});
      }
    }
    baseline.fingerprints.merge(evidence.fingerprints);
    std::move(evidence.left_out.begin(), evidence.left_out.end(),
              std::back_inserter(baseline.left_out));
    for (const std::string& problem : evidence.problems) {
      baseline.problems.push_back(fmt::format("{}: {}", operands[i], problem));
    }
  }
  baseline.results = result_set_of(records, "baseline");
  baseline.problems.insert(baseline.problems.end(), baseline.results.problems.begin(),
                           baseline.results.problems.end());
  TRY(refuse_mixture({&baseline.results}));
  Selection selection(baseline, rule);
  selection.run();
  if (baseline.results.series.empty()) {
    return Error{ErrorKind::usage, fmt::format("no cell has the {} sound runs that a baseline "
                                               "needs; the most is {}; {} results were left out",
                                               least_baseline_runs, selection.most_units(),
                                               baseline.left_out.size())};
  }
  name_mixture(baseline);
  return baseline;
}

}  // namespace assay

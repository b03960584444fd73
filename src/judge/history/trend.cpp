#include "judge/history/trend.h"

#include <cmath>

#include "core/json.h"
#include "results/store/comparable_metrics.h"
#include "statistics/multiplicity.h"

namespace assay {
namespace {

std::vector<ChangePoint> change_points(const HistorySeries& series, const ChangePointRule& rule) {
  std::vector<double> logs;
  for (const HistoryPoint& point : series.points) {
    logs.push_back(
        *log_time(point.value, series.key.better));  // a history holds only values that have one
  }
  return find_change_points(logs, rule);
}

/// Fingerprints by id, each read once.
class Environments {
 public:
  explicit Environments(const History& history) : history_(history) {}

  Result<const Json*> of(const std::string& id) {
    const auto at = known_.find(id);
    if (at != known_.end()) return &at->second;
    return &known_.emplace(id, TRY(history_.fingerprint(id))).first->second;
  }

 private:
  const History& history_;
  std::map<std::string, Json> known_;
};

}  // namespace

bool Trend::got_worse() const {
  return !changes.empty() && changes.back().worse() && changes.back().sure;
}

Result<std::vector<Trend>> trends_of(const History& history, std::vector<HistorySeries> all,
                                     const ChangePointRule& rule, std::string_view since) {
  Environments environments(history);
  std::vector<Trend> trends;
  // The p of every change; a series without a change counts as one hypothesis with p = 1.
  std::vector<double> p;
  for (HistorySeries& series : all) {
    Trend trend;
    const std::vector<ChangePoint> points = change_points(series, rule);
    if (points.empty()) p.push_back(1);
    for (const ChangePoint& point : points) {
      const HistoryPoint& before = series.points[point.index - 1];
      const HistoryPoint& after = series.points[point.index];
      TrendChange change;
      change.time = after.time;
      change.run = after.run;
      change.previous_run = before.run;
      change.time_ratio = std::exp(point.step);
      change.p = point.p;
      const Json* a = TRY(environments.of(before.fingerprint));
      const Json* b = TRY(environments.of(after.fingerprint));
      change.environment_known = !a->is_null() && !b->is_null();
      if (change.environment_known) change.differences = diff_fingerprints(*a, *b);
      p.push_back(point.p);
      trend.changes.push_back(std::move(change));
    }
    trend.series = std::move(series);
    trends.push_back(std::move(trend));
  }
  const std::vector<bool> sure = holm(p, rule.p);
  std::size_t at = 0;
  for (Trend& trend : trends) {
    if (trend.changes.empty()) ++at;
    for (TrendChange& change : trend.changes) change.sure = sure[at++];
    std::erase_if(trend.changes, [&](const TrendChange& change) { return change.time < since; });
  }
  return trends;
}

}  // namespace assay

#include "judge/campaign/partition_study.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/json.h"
#include "results/store/campaign_reader.h"
#include "statistics/paired.h"

namespace assay {
namespace {

using Values = std::map<std::pair<std::string, std::size_t>, UnitValues>;
using Key = std::pair<std::string, std::string>;
using ByPair = std::map<std::size_t, double>;

double median_of(const ByPair& values) {
  std::vector<double> all;
  for (const auto& [pair, value] : values) all.push_back(value);
  return median(std::move(all));
}

/// Computes the ratio over the pairs that both sides have.
StudyRatio ratio_of(const ByPair& top, const ByPair& bottom) {
  std::vector<double> logs;
  for (const auto& [pair, value] : top) {
    const auto other = bottom.find(pair);
    if (other != bottom.end()) logs.push_back(std::log(value / other->second));
  }
  StudyRatio ratio;
  ratio.pairs = logs.size();
  if (logs.empty()) return ratio;
  constexpr double any_margin = 1;  // arbitrary; the interval does not depend on it
  const PairedEffect effect = paired_effect(logs, any_margin);
  ratio.ratio = std::exp(effect.mean);
  ratio.interval95 = {std::exp(effect.t95.low), std::exp(effect.t95.high)};
  return ratio;
}

class Study {
 public:
  Study(const StudyPlan& plan, const Values& values) : plan_(plan), values_(values) {}

  std::vector<StudyCell> conclude() const {
    std::set<Key> keys;
    for (const auto& [unit, series] : values_) {
      for (const auto& [key, value] : series) keys.insert(key);
    }
    std::vector<StudyCell> cells;
    for (const Key& key : keys) {
      if (auto cell = conclude(key)) cells.push_back(std::move(*cell));
    }
    return cells;
  }

 private:
  ByPair series_of(const std::string& environment, const Key& key, StudyCell& cell) const {
    ByPair series;
    for (const auto& [unit, all] : values_) {
      if (unit.first != environment) continue;
      const auto value = all.find(key);
      if (value == all.end()) continue;
      series[unit.second] = value->second.value;
      cell.unit = value->second.unit;
      cell.better = value->second.better;
      cell.emulated = cell.emulated || value->second.emulated;
    }
    return series;
  }

  std::optional<StudyCell> conclude(const Key& key) const {
    StudyCell cell;
    cell.cell = key.first;
    cell.metric = key.second;
    std::vector<ByPair> together;
    for (const std::string& name : plan_.together) {
      const ByPair alone = series_of(name, key, cell);
      together.push_back(series_of(together_of(name), key, cell));
      const StudyRatio interference = ratio_of(together.back(), alone);
      if (interference.pairs == 0) return std::nullopt;
      cell.parts.push_back({name, median_of(alone), median_of(together.back()), interference});
    }
    const bool grows = cell.better == Better::higher;
    const auto worst = std::min_element(
        cell.parts.begin(), cell.parts.end(), [&](const StudyPart& a, const StudyPart& b) {
          return grows ? a.together < b.together : a.together > b.together;
        });
    cell.worst = worst->environment;
    const ByPair whole = plan_.whole.empty() ? ByPair() : series_of(plan_.whole, key, cell);
    if (!whole.empty()) cell.whole = median_of(whole);
    if (!grows || !cell.unit.ends_with("/s")) return cell;  // shares have no sum
    const ByPair sums = sums_of(together);
    if (!sums.empty()) cell.sum = median_of(sums);
    if (const StudyRatio ratio = ratio_of(sums, whole); ratio.pairs > 0) cell.sum_to_whole = ratio;
    return cell;
  }

  /// Sums over the pairs that every partition has.
  static ByPair sums_of(const std::vector<ByPair>& parts) {
    ByPair sums;
    for (const auto& [pair, first] : parts.front()) {
      double sum = 0;
      bool all = true;
      for (const ByPair& part : parts) {
        const auto value = part.find(pair);
        all = all && value != part.end();
        if (all) sum += value->second;
      }
      if (all) sums[pair] = sum;
    }
    return sums;
  }

  const StudyPlan& plan_;
  const Values& values_;
};

Json number(double value) {
  return std::isfinite(value) ? Json(value) : Json();
}

Json to_json(const StudyRatio& ratio) {
  return {{"ratio", number(ratio.ratio)},
          {"interval95", {number(ratio.interval95.low), number(ratio.interval95.high)}},
          {"pairs", ratio.pairs}};
}

}  // namespace

std::vector<StudyCell> conclude_study(const StudyPlan& study, const Values& values) {
  return Study(study, values).conclude();
}

Json to_json(const StudyCell& cell) {
  Json json = {{"cell", cell.cell},
               {"metric", cell.metric},
               {"unit", cell.unit},
               {"better", name_of(cell.better)}};
  if (cell.emulated) json["emulated"] = true;
  for (const StudyPart& part : cell.parts) {
    json["parts"].push_back({{"environment", part.environment},
                             {"each", part.alone},
                             {"together", part.together},
                             {"interference", to_json(part.interference)}});
  }
  json["worst"] = cell.worst;
  if (cell.sum) json["sum"] = *cell.sum;
  if (cell.whole) json["whole"] = *cell.whole;
  if (cell.sum_to_whole) json["sum_to_whole"] = to_json(*cell.sum_to_whole);
  return json;
}

}  // namespace assay

#include "judge/compare/comparison_json.h"

#include <cmath>

#include "core/json.h"

namespace assay {
namespace {

/// JSON has no infinity, so an open end is null.
Json to_json(const Interval& interval) {
  const auto end = [](double value) { return std::isfinite(value) ? Json(value) : Json(); };
  return Json::array({end(interval.low), end(interval.high)});
}

/// Effects stay logarithms of time ratios, for further computation.
Json to_json(const PairedEffect& effect) {
  Json json;
  json["pairs"] = effect.pairs;
  json["n"] = effect.n;
  json["mean"] = effect.mean;
  json["median"] = effect.median;
  json["deviation"] = effect.deviation;
  json["dependence"] = effect.dependence;
  json["t90"] = to_json(effect.t90);
  json["t95"] = to_json(effect.t95);
  json["sign90"] = to_json(effect.sign90);
  json["sign95"] = to_json(effect.sign95);
  json["p_equal"] = effect.p_equal;
  json["detectable"] = effect.detectable;
  json["outliers"] = effect.outliers;
  json["outlier_share_limit"] = effect.outlier_share_limit;
  return json;
}

Json to_json(const CellComparison& cell) {
  Json axes = Json::object();
  for (const auto& [axis, value] : cell.axes) axes[axis] = value;
  Json json;
  json["benchmark"] = cell.benchmark;
  json["axes"] = std::move(axes);
  json["metric"] = cell.key.metric;
  json["unit"] = cell.unit;
  json["better"] = name_of(cell.better);
  json["verdict"] = name_of(cell.judgement.verdict);
  json["code"] = cell.judgement.code;
  json["reason"] = cell.judgement.reason;
  json["median_a"] = cell.a.empty() ? Json() : Json(cell.median_a);
  json["median_b"] = cell.b.empty() ? Json() : Json(cell.median_b);
  if (cell.effect.pairs > 0) {
    json["ratio"] = cell.ratio;
    json["ratio95"] = to_json(cell.ratio95);
    json["effect"] = to_json(cell.effect);
  }
  json["control"] = name_of(cell.control_state);
  if (cell.control) json["control_effect"] = to_json(*cell.control);
  if (cell.effect.pairs > 0) {
    json["p_different"] = cell.test.p_different;
    json["p_slower"] = cell.test.p_slower;
    json["p_faster"] = cell.test.p_faster;
  }
  json["a"] = cell.a;
  json["b"] = cell.b;
  return json;
}

}  // namespace

Json to_json(const Comparison& comparison) {
  Json json;
  json["a"] = comparison.name_a;
  json["b"] = comparison.name_b;
  json["paired"] = comparison.paired;
  if (comparison.emulated) json["emulated"] = true;
  json["margin"] = comparison.rule.margin;
  json["alpha"] = comparison.rule.alpha;
  json["units_a"] = comparison.units_a;
  json["units_b"] = comparison.units_b;
  const Summation& all = comparison.all;
  json["verdict"] = name_of(all.judgement.verdict);
  json["code"] = all.judgement.code;
  json["reason"] = all.judgement.reason;
  if (all.ratio) json["time_ratio"] = *all.ratio;
  if (all.ratio95) json["time_ratio95"] = to_json(*all.ratio95);
  if (all.mean_verdict) json["mean_verdict"] = name_of(*all.mean_verdict);
  for (std::size_t i = 0; i < verdict_count; ++i) {
    json["counts"][std::string(name_of(static_cast<Verdict>(i)))] = all.counts[i];
  }
  json["cells"] = Json::array();
  for (const CellComparison& cell : comparison.cells) json["cells"].push_back(to_json(cell));
  json["beside"] = Json::array();
  for (const SideComparison& one : comparison.beside) {
    json["beside"].push_back({{"cell", one.key.cell},
                              {"metric", one.key.metric},
                              {"unit", one.unit},
                              {"median_a", one.median_a},
                              {"median_b", one.median_b},
                              {"same", one.same}});
  }
  json["environment"] = to_json(comparison.environment);
  json["pairs_left_out"] = comparison.pairs_left_out;
  json["problems"] = comparison.problems;
  return json;
}

}  // namespace assay

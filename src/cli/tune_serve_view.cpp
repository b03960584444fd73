#include "cli/tune_serve_view.h"

#include <fmt/format.h>

#include <cmath>

#include "cli/table.h"
#include "core/units.h"

namespace assay::cli {
namespace {

/// The gain of the score over that of the first trial, which has the default settings.
std::string score_gain(const ServerTrial& trial, const ServerTrial& first) {
  if (!trial.score.value || !first.score.value) return "-";
  return fmt::format("{:+.1f}%", (*trial.score.value / *first.score.value - 1) * 100);
}

std::string p99_text(const Latency& latency) {
  const Percentile* p99 = latency.percentile(99);
  return p99 == nullptr ? "-" : format_seconds(p99->value);
}

Json trial_json(const ServerTrial& trial) {
  Json json = {{"settings", Json::object()}};
  for (const Setting& setting : trial.settings) json["settings"][setting.variable] = setting.value;
  if (trial.score.value) json["score"] = *trial.score.value;
  if (!trial.score.problem.empty()) json["problem"] = trial.score.problem;
  if (trial.result) {
    const ServingResult& result = *trial.result;
    json["output_throughput"] = result.output_throughput;
    json["request_throughput"] = result.request_throughput;
    if (result.goodput) json["goodput"] = *result.goodput;
    json["mean_ttft"] = result.ttft.mean;
    json["mean_tpot"] = result.tpot.mean;
    if (const Percentile* p99 = result.e2el.percentile(99)) json["p99_e2el"] = p99->value;
  }
  return json;
}

}  // namespace

std::string server_trials_text(const std::vector<ServerTrial>& trials,
                               std::optional<std::size_t> best, std::size_t width,
                               const Style& style) {
  Table table({{"setting"},
               {"gain", Column::Align::right},
               {"tokens/s", Column::Align::right},
               {"good req/s", Column::Align::right, 4},
               {"TTFT p99", Column::Align::right, 3},
               {"TPOT mean", Column::Align::right, 5},
               {"E2EL p99", Column::Align::right, 2},
               {"", Column::Align::left, 1}});
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const ServerTrial& trial = trials[i];
    const std::string remark = !trial.score.value      ? style.red("failed")
                               : !trial.score.counts() ? style.yellow("limit")
                               : i == best             ? style.green("best")
                                                       : "";
    const std::string gain = i == 0 ? "" : score_gain(trial, trials[0]);
    if (!trial.result) {
      table.add({text_of(trial.settings), gain, "-", "-", "-", "-", "-", remark});
      continue;
    }
    const ServingResult& result = *trial.result;
    table.add({text_of(trial.settings), gain, format_significant(result.output_throughput),
               result.goodput ? format_significant(*result.goodput) : "-", p99_text(result.ttft),
               format_seconds(result.tpot.mean), p99_text(result.e2el), remark});
  }
  std::string text = table.render(width, style);
  for (const ServerTrial& trial : trials) {
    if (trial.score.problem.empty()) continue;
    text += fmt::format("  {}: {}\n", text_of(trial.settings), trial.score.problem);
  }
  return text;
}

std::string server_proof_text(const ServerProof& proof, const Settings& best) {
  const std::string interval =
      std::isfinite(proof.interval95.high)
          ? fmt::format(", 95% [{:.3f}, {:.3f}]", proof.interval95.low, proof.interval95.high)
          : "";
  const std::string kept = proof.kept_best + proof.kept_as_it_is == 2 * proof.runs
                               ? ""
                               : fmt::format("; good in {} of {} runs, the defaults in {}",
                                             proof.kept_best, proof.runs, proof.kept_as_it_is);
  return fmt::format("{}: {:.3f} times the default{} in {} pairs of fresh runs{}: {}\n",
                     text_of(best), proof.ratio, interval, proof.pairs, kept,
                     proof.proven ? "better, proven" : "not proven; more --pairs may tell");
}

Json server_tuning_json(const std::vector<ServerTrial>& trials, std::optional<std::size_t> best,
                        const std::optional<ServerProof>& proof,
                        const std::vector<ServerPair>& pairs) {
  Json json = {{"trials", Json::array()}};
  for (const ServerTrial& trial : trials) json["trials"].push_back(trial_json(trial));
  json["best"] = best ? Json(*best) : Json(nullptr);
  if (!proof) return json;
  const auto score = [](const ServerScore& one) {
    return one.value ? Json(*one.value) : Json(nullptr);
  };
  Json values = Json::array();
  for (const ServerPair& pair : pairs) {
    values.push_back(Json::array({score(pair.as_it_is), score(pair.best)}));
  }
  json["proof"] = {{"pairs", std::move(values)},
                   {"kept_as_it_is", proof->kept_as_it_is},
                   {"kept_best", proof->kept_best},
                   {"ratio", proof->ratio},
                   {"interval95", {proof->interval95.low, proof->interval95.high}},
                   {"proven", proof->proven}};
  return json;
}

}  // namespace assay::cli

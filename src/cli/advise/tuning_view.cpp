#include "cli/advise/tuning_view.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "cli/advise/proof_view.h"
#include "cli/exit_code.h"
#include "cli/progress.h"
#include "core/json.h"
#include "core/units.h"

namespace assay::cli {
namespace {

constexpr std::size_t most_rows = 10;     // rows in the table of settings
constexpr std::size_t most_failures = 3;  // reasons of failures listed above the table
constexpr double slow_seconds = 5;        // runs that take longer are always shown

/// Why settings have no score, the most frequent reason first; a setting that is the only one with
/// its reason is named.
std::string problems_text(const ParameterSpace& space, const TuningResult& result) {
  struct Problem {
    std::size_t count = 0, setting = 0;
  };
  std::map<std::string, Problem> problems;
  for (const auto& [setting, trial] : result.tried) {
    if (trial.score.problem.empty()) continue;
    Problem& problem = problems[trial.score.problem];
    ++problem.count;
    problem.setting = setting;
  }
  std::vector<std::pair<std::string, Problem>> sorted(problems.begin(), problems.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second.count > b.second.count; });
  std::string text;
  for (std::size_t i = 0; i < sorted.size() && i < most_failures; ++i) {
    const auto& [reason, problem] = sorted[i];
    text += problem.count == 1
                ? fmt::format("  {}: {}\n", text_of(space.settings_of(problem.setting)), reason)
                : fmt::format("  {} settings: {}\n", problem.count, reason);
  }
  if (sorted.size() > most_failures) {
    text += fmt::format("  and {} other reasons; the records have them\n",
                        sorted.size() - most_failures);
  }
  return text;
}

std::string settings_table(const ParameterSpace& space, const TuningResult& result,
                           const TuningColumns& columns, std::size_t width, const Style& style) {
  const std::vector<Standing>& finalists = result.found.finalists;
  const std::size_t usual = space.usual();
  const auto usual_at = std::find_if(finalists.begin(), finalists.end(), [&](const Standing& one) {
    return one.contender == usual && one.score;
  });
  std::vector<Column> all = {{"setting"}};
  all.insert(all.end(), columns.columns.begin(), columns.columns.end());
  all.push_back({"gain", Column::Align::right});
  all.push_back({"runs", Column::Align::right, 2});
  all.push_back({"", Column::Align::left, 1});
  Table table(all);
  std::size_t rows = 0;
  for (const Standing& one : finalists) {
    if (!one.score || (++rows > most_rows && one.contender != usual)) continue;
    std::vector<std::string> row = {text_of(space.settings_of(one.contender))};
    for (std::string& text : columns.texts(*one.score, result.tried.at(one.contender))) {
      row.push_back(std::move(text));
    }
    row.push_back(
        usual_at == finalists.end() || one.contender == usual
            ? ""
            : fmt::format("{:+.1f}%", (std::exp(*one.score - *usual_at->score) - 1) * 100));
    row.push_back(fmt::format("{}", one.effort));
    row.push_back(one.contender == usual       ? style.dim("default")
                  : &one == &finalists.front() ? style.green("best")
                                               : "");
    table.add(std::move(row));
  }
  return rows == 0 ? "" : table.render(width, style);
}

Json settings_json(const ParameterSpace& space, std::size_t setting) {
  Json json = Json::object();
  for (const Setting& one : space.settings_of(setting)) json[one.variable] = one.value;
  return json;
}

/// The values and metrics of a setting's last run, by cell.
Json figures_json(const Trial& trial) {
  Json json = Json::object();
  for (const Record& record : trial.records) {
    Json& cell = json[without_axis(record.cell, setting_axis).id()];
    if (record.value) cell["value"] = record.value->median;
    for (const Metric& metric : record.metrics) cell[metric.name] = metric.value;
  }
  return json;
}

}  // namespace

TuningProgress::~TuningProgress() {
  if (terminal_.interactive()) terminal_.rewrite_line("");
}

TuningEvents TuningProgress::events() {
  return {[this](const TuningState& state) { begins(state); },
          [this](const TuningState& state, const Trial& trial, bool is_best) {
            ended(state, trial, is_best);
          }};
}

void TuningProgress::begins(const TuningState& state) {
  seconds_ = state.seconds;
  if (!terminal_.interactive()) return;
  const Progress progress = {.done = std::min(state.runs, state.most_runs),
                             .total = state.most_runs,
                             .elapsed_seconds = state.seconds,
                             .budget_seconds = rules_.seconds,
                             .label = fmt::format("{} {}", state.part, text_of(state.settings))};
  terminal_.rewrite_line(progress_line(
      progress, static_cast<std::size_t>(terminal_.error_width()) - 1, terminal_.error_style()));
}

void TuningProgress::ended(const TuningState& state, const Trial& trial, bool is_best) {
  if (!is_best && state.seconds - seconds_ < slow_seconds) return;
  if (terminal_.interactive()) terminal_.rewrite_line("");
  const std::string result = !trial.score.counts()
                                 ? trial.score.problem
                                 : columns_.texts(*trial.score.score, trial).front();
  terminal_.note(fmt::format("  {} run {:<4} {}{}{}{}\n", state.part, state.runs,
                             text_of(state.settings), result.empty() ? "" : ": ", result,
                             is_best ? ", the best so far" : ""));
}

std::string search_text(const ParameterSpace& space, const TuningResult& result,
                        const TuningColumns& columns, std::size_t width, const Style& style) {
  return fmt::format("{} of {} settings tried in {} runs, {}\n", result.tried.size(), space.size(),
                     result.runs, format_clock(result.seconds)) +
         problems_text(space, result) + settings_table(space, result, columns, width, style);
}

std::string conclusion_text(const ParameterSpace& space, const TuningResult& result) {
  if (!result.any_counts())
    return "no setting was measured without an error and within the limits\n";
  if (!result.proof) return "all settings but the default failed or exceeded a limit\n";
  const TuningProof& proof = *result.proof;
  const std::string setting = text_of(space.settings_of(*result.challenger(space.usual())));
  if (!proof.failure.empty()) {
    return fmt::format("{}: not proven: in a fresh run {}; another folder (--out) tries again\n",
                       setting, proof.failure);
  }
  if (proof.usual_counts < proof.pairs.size()) {
    return fmt::format("{}: {}; it kept its limits in all runs, the default in {} of {}: {}\n",
                       setting, proof_text(proof.speed), proof.usual_counts, proof.pairs.size(),
                       proof.better ? "better, proven" : conclusion_text(proof.speed));
  }
  return fmt::format("{}: {}: {}\n", setting, proof_text(proof.speed),
                     conclusion_text(proof.speed));
}

Json tuning_json(const std::string& name, const ParameterSpace& space, const TuningResult& result) {
  Json json = {{"name", name},
               {"settings", space.size()},
               {"tried", result.tried.size()},
               {"runs", result.runs},
               {"seconds", result.seconds},
               {"usual", settings_json(space, space.usual())},
               {"finalists", Json::array()},
               {"failed", Json::array()}};
  for (const Standing& one : result.found.finalists) {
    if (!one.score) continue;
    json["finalists"].push_back({{"settings", settings_json(space, one.contender)},
                                 {"runs", one.effort},
                                 {"speed", std::exp(*one.score)},
                                 {"cells", figures_json(result.tried.at(one.contender))}});
  }
  for (const auto& [setting, trial] : result.tried) {
    if (trial.score.counts()) continue;
    json["failed"].push_back(
        {{"settings", settings_json(space, setting)}, {"problem", trial.score.problem}});
  }
  if (!result.proof) return json;
  const TuningProof& proof = *result.proof;
  json["proof"] = proof_json(proof.speed, proof.scores);
  json["proof"]["better"] = proof.better;
  json["proof"]["kept_usual"] = proof.usual_counts;
  json["proof"]["settings"] = settings_json(space, *result.challenger(space.usual()));
  if (!proof.failure.empty()) json["proof"]["problem"] = proof.failure;
  return json;
}

int status_of(const TuningResult& result) {
  if (!result.any_counts()) return exit_nothing_ran;
  return !result.proof || result.proof->decided() ? exit_ok : exit_inconclusive;
}

}  // namespace assay::cli

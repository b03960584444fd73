#include "cli/tune_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/cli.h"
#include "cli/interrupt.h"
#include "cli/metrics_view.h"
#include "cli/progress.h"
#include "cli/proof_view.h"
#include "cli/table.h"
#include "compute/device/backend.h"
#include "core/json.h"
#include "core/units.h"
#include "machine/system/fingerprint.h"
#include "measure/sampling/external.h"
#include "tune/search.h"
#include "tune/trial_log.h"
#include "tune/tuning_plan.h"

namespace assay::cli {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::string_view proof_part = "proof";
constexpr std::size_t most_rows = 10;     // of the table of settings
constexpr std::size_t most_problems = 3;  // listed below it
// A setting that takes this many times as long as the usual one, and a little, is not worth more.
constexpr double patience = 5, patience_seconds = 2;

/// ln of the speed that the plan's first metric means; empty: there is no such number.
std::optional<double> score_of(const Record& record) {
  if (record.status != RecordStatus::passed || record.metrics.empty()) return std::nullopt;
  const Metric& metric = record.metrics.front();
  if (!(metric.value > 0)) return std::nullopt;
  return metric.better == Better::lower ? -std::log(metric.value) : std::log(metric.value);
}

/// By setting that was run: why its last run that failed did; empty: none failed.
using Tried = std::map<std::size_t, std::string>;

/// Runs settings for a search and a proof, and says how far it is.
class CommandTuner {
 public:
  CommandTuner(const TuningPlan& plan, TrialLog log, Terminal& terminal)
      : plan_(plan), log_(std::move(log)), terminal_(terminal) {}
  ~CommandTuner() {
    if (terminal_.interactive()) terminal_.rewrite_line("");
  }

  /// Empty: it failed. Error: as TrialLog::run().
  Result<std::optional<double>> run(std::string_view part, std::size_t setting) {
    const Settings settings = plan_.space.settings_of(setting);
    const bool was_kept = log_.runs() < log_.kept();
    if (!was_kept) show(text_of(settings));
    std::vector<std::pair<std::string, std::string>> axes;
    for (const Setting& one : settings) axes.emplace_back(one.variable, one.value);
    const Record record =
        TRY(log_.run(part, Cell(plan_.command.name, axes),
                     [&](const Record& blank) { return measure(settings, blank); }));
    const auto score = score_of(record);
    std::string& problem = tried_[setting];
    if (!score) problem = problem_of(record);
    if (score)
      slowest_usual_ =
          std::max(slowest_usual_, setting == plan_.space.usual() ? log_.last_seconds() : 0);
    if (score && !metric_) metric_ = record.metrics.front();
    if (score && score > best_) {
      best_ = score;
      if (!was_kept && part == search_part)
        tell(fmt::format("{}  {}", format_score(*score), text_of(settings)));
    }
    return score;
  }

  /// The metric's value for a score: "1.234 ms".
  std::string format_score(double score) const {
    Metric metric = *metric_;
    metric.value = std::exp(metric.better == Better::lower ? -score : score);
    return format_metric(metric);
  }
  const Tried& tried() const { return tried_; }
  const TrialLog& log() const { return log_; }
  /// For the proof: runs that are left are counted from here.
  void expect(std::size_t runs) { expected_runs_ = log_.runs() + runs; }

 private:
  Result<Record> measure(const Settings& settings, const Record& blank) const {
    ExternalCommand command = command_with(plan_.command, settings);
    if (slowest_usual_ > 0) {
      command.timeout_seconds =
          std::min(command.timeout_seconds, patience * slowest_usual_ + patience_seconds);
    }
    auto records = TRY(run_external(command, blank, &interrupt_requested));
    Record record = std::move(records.front());
    record.cell = blank.cell;
    return record;
  }

  static std::string problem_of(const Record& record) {
    if (!record.reason.empty()) return record.reason;
    if (record.metrics.empty()) return "it reported nothing";
    return fmt::format("its {} is {}, not above 0", record.metrics.front().name,
                       record.metrics.front().value);
  }

  void show(const std::string& label) {
    if (!terminal_.interactive()) return;
    const Progress progress = {.done = std::min(log_.runs(), expected_runs_),
                               .total = expected_runs_,
                               .elapsed_seconds = log_.seconds(),
                               .budget_seconds = plan_.seconds,
                               .label = label};
    terminal_.rewrite_line(progress_line(
        progress, static_cast<std::size_t>(terminal_.error_width()), terminal_.error_style()));
  }
  void tell(const std::string& line) {
    if (terminal_.interactive()) terminal_.rewrite_line("");
    terminal_.note(fmt::format("  run {:<5} {}\n", log_.runs(), line));
  }

  const TuningPlan& plan_;
  TrialLog log_;
  Terminal& terminal_;
  Tried tried_;
  std::optional<Metric> metric_;
  std::optional<double> best_;
  double slowest_usual_ = 0;
  std::size_t expected_runs_ = plan_.runs;
};

struct TuningResult {
  SettingsFound found;
  Tried tried;  ///< in the search
  std::size_t runs = 0;
  double seconds = 0;
  std::vector<ScorePair> pairs;
  std::string failed_proof;  ///< why a run of the proof has no value
  std::optional<Proof> proof;
};

Result<TuningResult> tune(const TuningPlan& plan, CommandTuner& tuner) {
  TuningResult result;
  const ParameterSpace& space = plan.space;
  SearchBudget budget = {.runs = plan.runs};
  if (plan.seconds) budget.time_spent = [&] { return tuner.log().seconds() / *plan.seconds; };
  auto found = search_settings(space, budget, plan.seed, [&](std::size_t setting, std::size_t) {
    return tuner.run(search_part, setting);
  });
  if (!found.ok() && found.error().kind == ErrorKind::failed) {
    return Error{ErrorKind::unavailable,
                 fmt::format("nothing was measured with the usual values: {}",
                             tuner.tried().at(space.usual()))};
  }
  result.found = TRY(std::move(found));
  result.tried = tuner.tried();
  result.runs = tuner.log().runs();
  result.seconds = tuner.log().seconds();
  const Standing& best = result.found.finalists.front();
  if (!best.score || best.contender == space.usual()) return result;

  tuner.expect(2 * plan.most_pairs);
  while (result.pairs.size() < plan.most_pairs && result.failed_proof.empty()) {
    const std::size_t pair = result.pairs.size();
    ScorePair scores;
    for (std::size_t turn = 0; turn < 2; ++turn) {
      const bool is_best = is_turn_of_best(pair, turn);
      const std::size_t setting = is_best ? best.contender : space.usual();
      const auto score = TRY(tuner.run(proof_part, setting));
      if (!score) {
        result.failed_proof = tuner.tried().at(setting);
        break;
      }
      (is_best ? scores.best : scores.usual) = *score;
    }
    if (!result.failed_proof.empty()) break;
    result.pairs.push_back(scores);
    if (result.pairs.size() >= plan.least_pairs && precise_enough(result.pairs)) break;
  }
  result.proof = prove(result.pairs);
  return result;
}

/// The reasons of failed runs, the most frequent first.
std::string problems_text(const TuningResult& result) {
  std::map<std::string, std::size_t> counts;
  for (const auto& [setting, problem] : result.tried) {
    if (!problem.empty()) ++counts[problem];
  }
  std::vector<std::pair<std::string, std::size_t>> sorted(counts.begin(), counts.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  for (std::size_t i = 0; i < sorted.size() && i < most_problems; ++i) {
    text += fmt::format("  {} failed: {}\n", sorted[i].second, sorted[i].first);
  }
  if (sorted.size() > most_problems) {
    text += fmt::format("  and {} other reasons of failures; the records have them\n",
                        sorted.size() - most_problems);
  }
  return text;
}

std::string settings_table(const TuningPlan& plan, const TuningResult& result,
                           const CommandTuner& tuner, std::size_t width, const Style& style) {
  const std::vector<Standing>& finalists = result.found.finalists;
  const std::size_t usual = plan.space.usual();
  const auto usual_at = std::find_if(finalists.begin(), finalists.end(), [&](const Standing& one) {
    return one.contender == usual && one.score;
  });
  Table table({{"setting"},
               {plan.command.metrics.front().name, Column::Align::right},
               {"gain", Column::Align::right},
               {"runs", Column::Align::right, 2},
               {"", Column::Align::left, 1}});
  std::size_t rows = 0;
  for (const Standing& one : finalists) {
    if (!one.score || (++rows > most_rows && one.contender != usual)) continue;
    const std::string gain =
        usual_at == finalists.end() || one.contender == usual
            ? ""
            : fmt::format("{:+.1f}%", (std::exp(*one.score - *usual_at->score) - 1) * 100);
    table.add({text_of(plan.space.settings_of(one.contender)), tuner.format_score(*one.score), gain,
               fmt::format("{}", one.effort),
               one.contender == usual       ? style.dim("usual")
               : &one == &finalists.front() ? style.green("best")
                                            : ""});
  }
  return table.render(width, style);
}

std::string conclusion(const TuningPlan& plan, const TuningResult& result) {
  const Standing& best = result.found.finalists.front();
  if (!result.proof) return "no setting is better than the usual one\n";
  const std::string setting = text_of(plan.space.settings_of(best.contender));
  if (!result.failed_proof.empty()) {
    return fmt::format("{}: not proven: a fresh run failed: {}\n", setting, result.failed_proof);
  }
  return fmt::format("{}: {}: {}\n", setting, proof_text(*result.proof),
                     conclusion_text(*result.proof));
}

Json settings_json(const TuningPlan& plan, std::size_t setting) {
  Json json = Json::object();
  for (const Setting& one : plan.space.settings_of(setting)) json[one.variable] = one.value;
  return json;
}

Json result_json(const TuningPlan& plan, const TuningResult& result) {
  Json json = {{"name", plan.command.name},    {"settings", plan.space.size()},
               {"tried", result.tried.size()}, {"runs", result.runs},
               {"seconds", result.seconds},    {"usual", settings_json(plan, plan.space.usual())},
               {"finalists", Json::array()}};
  for (const Standing& one : result.found.finalists) {
    json["finalists"].push_back(
        {{"settings", settings_json(plan, one.contender)},
         {"runs", one.effort},
         {"speed", one.score ? Json(std::exp(*one.score)) : Json(nullptr)}});
  }
  if (result.proof) json["proof"] = proof_json(*result.proof, result.pairs);
  if (!result.failed_proof.empty()) json["proof"]["problem"] = result.failed_proof;
  return json;
}

int status_of(const TuningResult& result) {
  if (!result.proof) return exit_ok;
  if (!result.failed_proof.empty()) return exit_inconclusive;
  const bool decided =
      result.proof->better || result.proof->worse || result.proof->verdict == Verdict::equal;
  return decided ? exit_ok : exit_inconclusive;
}

Result<int> run_tuning(const Arguments& arguments, Terminal& terminal) {
  if (arguments.positionals.size() != 2) {
    return Error{ErrorKind::usage,
                 "tune command takes one plan; example: assay tune command plan.yaml"};
  }
  const TuningPlan plan = TRY(load_tuning_plan(arguments.positionals[1]));
  const std::string folder = arguments.get("--out", "tuning");
  const auto backends = make_backends();
  catch_interrupts();
  CommandTuner tuner(
      plan, TRY(TrialLog::open(folder, plan.text, take_fingerprint(facts_of(backends)))), terminal);
  terminal.note(fmt::format(
      "{}: {} settings, {} runs at most; {}\n", plan.command.name, plan.space.size(), plan.runs,
      tuner.log().kept() == 0 ? "stored in " + folder
                              : fmt::format("going on after {} runs", tuner.log().kept())));
  auto tuned = tune(plan, tuner);
  if (!tuned.ok() && tuned.error().kind == ErrorKind::interrupted) {
    return Error{ErrorKind::interrupted, "stopped; the same command goes on where it was"};
  }
  const TuningResult result = TRY(std::move(tuned));
  if (arguments.has("--json")) {
    terminal.print(result_json(plan, result).dump() + "\n");
  } else {
    if (terminal.interactive()) terminal.rewrite_line("");
    terminal.print(fmt::format("{} of {} settings tried in {} runs, {}\n", result.tried.size(),
                               plan.space.size(), result.runs, format_clock(result.seconds)));
    terminal.print(problems_text(result));
    terminal.print(settings_table(plan, result, tuner, static_cast<std::size_t>(terminal.width()),
                                  terminal.out_style()));
    terminal.print(conclusion(plan, result));
  }
  return status_of(result);
}

}  // namespace

int tune_program(const Arguments& arguments, Terminal& terminal) {
  const auto status = run_tuning(arguments, terminal);
  return status.ok() ? *status : report(terminal, status.error());
}

}  // namespace assay::cli

#include "advise/tune/tuning.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "statistics/paired.h"

namespace assay {
namespace {

// A run is stopped after `patience` times the default setting's slowest run plus
// `patience_seconds`.
constexpr double patience = 5, patience_seconds = 2;

class Tuner {
 public:
  Tuner(const ParameterSpace& space, const TuningRules& rules, const TrialKind& kind, TrialLog& log,
        const TuningEvents& events)
      : space_(space), rules_(rules), kind_(kind), log_(log), events_(events) {}

  Result<TuningResult> run() {
    TuningResult result;
    most_runs_ = rules_.runs;
    const SearchBudget budget =
        search_budget(rules_, [&] { return log_.seconds() / *rules_.seconds; });
    result.found = TRY(search_settings(
        space_, budget, rules_.seed,
        [&](std::size_t setting, std::size_t) -> Result<std::optional<double>> {
          Trial& trial = result.tried[setting] = TRY(run_one(search_part, setting));
          if (!trial.score.score && setting == space_.usual() && !slowest_usual_) {
            return Error{ErrorKind::unavailable,
                         "nothing was measured with the default values: " + trial.score.problem};
          }
          return trial.score.counts() ? trial.score.score : std::nullopt;
        }));
    result.runs = log_.runs();
    result.seconds = log_.seconds();
    const auto challenger = result.challenger(space_.usual());
    if (challenger) result.proof = TRY(hold_proof(*challenger));
    return result;
  }

 private:
  Result<Trial> run_one(std::string_view part, std::size_t setting) {
    const Settings settings = space_.settings_of(setting);
    const bool is_kept = log_.runs() < log_.kept();
    if (!is_kept) events_.begins(state(part, settings));
    Trial trial;
    trial.records =
        TRY(log_.run(part, text_of(settings), kind_.cell(settings), [&](const Record& blank) {
          return kind_.measure(settings, blank, most_seconds());
        }));
    trial.score = kind_.score(trial.records);
    if (!trial.score.score && trial.score.problem.empty()) trial.score.problem = "it has no score";
    if (trial.score.score && setting == space_.usual()) {
      slowest_usual_ = std::max(slowest_usual_.value_or(0), log_.last_seconds());
    }
    const bool is_best = part == search_part && trial.score.counts() && trial.score.score > best_;
    if (is_best) best_ = trial.score.score;
    if (!is_kept) events_.ended(state(part, settings), trial, is_best);
    return trial;
  }

  double most_seconds() const {
    return slowest_usual_ ? patience * *slowest_usual_ + patience_seconds
                          : std::numeric_limits<double>::infinity();
  }
  TuningState state(std::string_view part, const Settings& settings) const {
    return {part, settings, log_.runs(), most_runs_, log_.seconds()};
  }

  Result<TuningProof> hold_proof(std::size_t best) {
    TuningProof proof;
    most_runs_ = log_.runs() + 2 * rules_.most_pairs;
    while (proof.pairs.size() < rules_.most_pairs) {
      TrialPair pair;
      const std::size_t number = proof.pairs.size();
      for (std::size_t turn = 0; turn < 2 && proof.failure.empty(); ++turn) {
        const bool is_best = is_turn_of_best(number, turn);
        Trial& trial = is_best ? pair.best : pair.usual;
        trial = TRY(run_one(proof_part, is_best ? best : space_.usual()));
        if (is_best ? trial.score.counts() : trial.score.score.has_value()) continue;
        proof.failure = fmt::format(
            "{} failed: {}", is_best ? "the setting" : "the default setting", trial.score.problem);
      }
      if (!proof.failure.empty()) break;
      add(std::move(pair), proof);
      if (proof.pairs.size() >= rules_.least_pairs && precise_enough(proof.scores)) break;
    }
    proof.speed = prove(proof.scores);
    proof.better = proof.failure.empty() && proof.pairs.size() >= least_units &&
                   (proof.speed.better || proof.usual_counts == 0);
    return proof;
  }

  static void add(TrialPair pair, TuningProof& proof) {
    proof.usual_counts += pair.usual.score.counts() ? 1 : 0;
    proof.scores.push_back({*pair.usual.score.score, *pair.best.score.score});
    proof.pairs.push_back(std::move(pair));
  }

  const ParameterSpace& space_;
  const TuningRules& rules_;
  const TrialKind& kind_;
  TrialLog& log_;
  const TuningEvents& events_;
  std::size_t most_runs_ = 0;
  std::optional<double> best_, slowest_usual_;
};

}  // namespace

SearchBudget search_budget(const TuningRules& rules, std::function<double()> time_spent) {
  SearchBudget budget = {.runs = rules.runs};
  if (rules.seconds) budget.time_spent = std::move(time_spent);
  return budget;
}

bool TuningProof::decided() const {
  return failure.empty() && (better || speed.worse || speed.verdict == Verdict::equal);
}

std::optional<std::size_t> TuningResult::challenger(std::size_t usual) const {
  for (const Standing& one : found.finalists) {
    if (one.score && one.contender != usual) return one.contender;
  }
  return std::nullopt;
}

bool TuningResult::any_counts() const {
  return !found.finalists.empty() && found.finalists.front().score;
}

Result<TuningResult> tune(const ParameterSpace& space, const TuningRules& rules,
                          const TrialKind& kind, TrialLog& log, const TuningEvents& events) {
  return Tuner(space, rules, kind, log, events).run();
}

}  // namespace assay

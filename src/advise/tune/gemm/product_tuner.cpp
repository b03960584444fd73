#include "advise/tune/gemm/product_tuner.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <vector>

#include "advise/tune/gemm/product_trials.h"
#include "advise/tune/proof.h"
#include "advise/tune/tuning_journal.h"
#include "compute/device/helpers.h"
#include "compute/vendor/blas/gemm_choice.h"
#include "measure/sampling/roofline.h"
#include "statistics/summary.h"

namespace assay {
namespace {

constexpr std::size_t most_refused = 8;
constexpr std::size_t race_fraction = 4;
// Solutions slower than this times the fastest correct one are not considered further: a single
// short run may be off by this factor.
constexpr double hopeless = 1.4;
// Screening runs are too short for the clock to settle; their times scatter by about this share.
constexpr double indistinct = 0.015;

using TuningClock = std::chrono::steady_clock;

double seconds_since(TuningClock::time_point began) {
  return std::chrono::duration<double>(TuningClock::now() - began).count();
}

void refuse(ProductOutcome& outcome, const ProductSolution& solution, bool wrong,
            const std::string& reason) {
  std::size_t& count = wrong ? outcome.wrong : outcome.failed;
  if (++count <= most_refused) outcome.refused.push_back({solution, reason, wrong});
}

struct ScreenedSolution {
  std::size_t index = 0;
  double seconds = 0;
};

/// Screens all solutions with two runs each, until `box_seconds` have passed.
Result<std::vector<ScreenedSolution>> screen_all(ProductTrials& trials, double box_seconds,
                                                 const ProductTuner::Report& report,
                                                 ProductOutcome& outcome) {
  const auto began = TuningClock::now();
  std::vector<ScreenedSolution> screened;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    if (report(fmt::format("trying {} of {}", i + 1, trials.size()))) return stopped_tuning();
    if (!screened.empty() && seconds_since(began) > box_seconds) {
      outcome.untried = trials.size() - i;
      break;
    }
    const auto result = TRY(trials.screen(i));
    if (result.seconds) {
      screened.push_back({i, *result.seconds});
    } else {
      refuse(outcome, trials.solution(i), false, result.reason);
    }
  }
  return screened;
}

/// Checks the results of solutions and returns the correct ones. It checks in order of increasing
/// time, up to `hopeless` times the fastest correct one, and always includes the first correct
/// solution in the libraries' order. Removes wrong solutions from `screened` and sorts it by time.
Result<std::vector<std::size_t>> check_fast(ProductTrials& trials,
                                            std::vector<ScreenedSolution>& screened,
                                            const ProductTuner::Report& report,
                                            ProductOutcome& outcome) {
  std::vector<std::size_t> right;
  std::set<std::size_t> checked;
  const auto check = [&](std::size_t i) -> Status {
    if (!checked.insert(i).second) return {};
    if (report(fmt::format("checking, {} so far", checked.size()))) return stopped_tuning();
    const auto result = TRY(trials.check(i));
    if (result.check == ProductTrials::Check::right) {
      right.push_back(i);
    } else {
      refuse(outcome, trials.solution(i), result.check == ProductTrials::Check::wrong,
             result.reason);
    }
    return {};
  };
  for (const ScreenedSolution& one : screened) {  // in the libraries' order
    TRY(check(one.index));
    if (!right.empty()) break;
  }
  std::sort(
      screened.begin(), screened.end(),
      [](const ScreenedSolution& a, const ScreenedSolution& b) { return a.seconds < b.seconds; });
  double fastest = std::numeric_limits<double>::infinity();
  for (const ScreenedSolution& one : screened) {
    if (one.seconds > hopeless * fastest) {
      outcome.slow += checked.contains(one.index) ? 0 : 1;
      continue;
    }
    TRY(check(one.index));
    if (std::count(right.begin(), right.end(), one.index) > 0) {
      fastest = std::min(fastest, one.seconds);
    }
  }
  std::erase_if(screened, [&](const ScreenedSolution& one) {
    return checked.contains(one.index) && std::count(right.begin(), right.end(), one.index) == 0;
  });
  return right;
}

std::vector<double> first_times(const std::vector<ScreenedSolution>& screened, std::size_t usual) {
  const auto own =
      std::find_if(screened.begin(), screened.end(),
                   [&](const ScreenedSolution& solution) { return solution.index == usual; });
  std::vector<double> times;
  for (const ScreenedSolution& solution : screened) {
    if (times.size() < most_first_times) times.push_back(solution.seconds / own->seconds);
  }
  return times;
}

/// Proves by alternating runs whether the fastest solution beats the default one; an untimed run
/// before each lets the clock settle. False: one of them failed.
Result<bool> hold_proof(ProductTrials& trials, std::size_t usual, std::size_t fastest,
                        const TuneGemmSettings& settings, const ProductTuner::Report& report,
                        ProductOutcome& outcome) {
  std::vector<double> usual_seconds, fastest_seconds;
  std::vector<ScorePair> pairs;
  for (std::size_t pair = 0; pair < settings.pairs; ++pair) {
    if (report(fmt::format("proof {} of {}", pair + 1, settings.pairs))) return stopped_tuning();
    ScorePair scores;
    for (const std::size_t turn : {0, 1}) {
      const bool best = is_turn_of_best(pair, turn);
      const auto time =
          TRY(trials.time(best ? fastest : usual, settings.proof_seconds, settings.proof_seconds));
      if (!time) return false;
      (best ? fastest_seconds : usual_seconds).push_back(*time);
      (best ? scores.best : scores.usual) = -std::log(*time);
    }
    pairs.push_back(scores);
  }
  const Proof proof = prove(pairs);
  outcome.pairs = proof.pairs;
  outcome.usual_seconds = median(usual_seconds);
  outcome.fastest_seconds = median(fastest_seconds);
  outcome.gain = proof.ratio;
  outcome.gain_low = proof.interval95.low;
  outcome.gain_high = proof.interval95.high;
  outcome.proven = proof.better;
  return true;
}

/// The time of the default solution alone, in runs of half the length of a proof's. Empty: it
/// failed.
Result<std::optional<double>> settled_seconds(ProductTrials& trials, std::size_t usual,
                                              const TuneGemmSettings& settings) {
  std::vector<double> seconds;
  for (int run = 0; run < 3; ++run) {
    const auto time =
        TRY(trials.time(usual, settings.proof_seconds / 2, settings.proof_seconds / 2));
    if (!time) return std::optional<double>();
    seconds.push_back(*time);
  }
  return std::optional(median(seconds));
}

}  // namespace

double shortest_run_seconds(const TuneGemmSettings& settings) {
  return settings.brute_force ? settings.proof_seconds : settings.screening_seconds;
}

RaceRules race_rules(const TuneGemmSettings& settings) {
  RaceRules rules;
  rules.fraction = race_fraction;
  rules.longer_runs = true;
  rules.indistinct = indistinct;
  rules.most_effort = static_cast<std::size_t>(
      std::max(1.0, settings.proof_seconds / shortest_run_seconds(settings)));
  return rules;
}

ProductTuner::ProductTuner(Device& device, Stream& stream, TuneGemmSettings settings)
    : device_(device), stream_(stream), settings_(std::move(settings)) {
  if (settings_.rotate_bytes == 0) settings_.rotate_bytes = flushing_bytes(device.facts());
  if (device.facts().emulated) {  // an emulator's clock needs no time to settle
    settings_.screening_seconds = 10e-6;
    settings_.proof_seconds = 100e-6;
  }
}

ProductTuner::~ProductTuner() = default;

Result<Blas*> ProductTuner::library(const BlasProvider& provider) {
  const auto opened = libraries_.find(provider.name);
  if (opened != libraries_.end()) return opened->second.get();
  auto library = TRY(provider.open(device_));
  return libraries_.emplace(std::string(provider.name), std::move(library)).first->second.get();
}

Result<ProductTuner::Added> ProductTuner::add_solutions(const GemmProblem& problem) {
  const DeviceFacts& facts = device_.facts();
  struct Offer {
    Blas* library;
    std::vector<GemmAlgorithm> algorithms;
  };
  std::vector<Offer> offers;
  std::vector<std::string> reasons;
  for (const BlasProvider& provider : blas_providers(facts.backend)) {
    if (!provider.allowed_by(settings_.library)) continue;
    if (const auto reason = provider.unsupported(problem, facts)) {
      reasons.push_back(fmt::format("{}: {}", provider.name, *reason));
      continue;
    }
    const auto opened = library(provider);
    auto algorithms = opened.ok() ? (*opened)->all_algorithms(problem, settings_.workspace_bytes,
                                                              settings_.most_solutions)
                                  : Result<std::vector<GemmAlgorithm>>(Error(opened.error()));
    if (algorithms.ok()) {
      offers.push_back({*opened, std::move(algorithms).value()});
    } else {
      reasons.push_back(algorithms.error().message);
    }
  }
  Added added;
  if (offers.empty()) {
    added.reason = reasons.empty() ? fmt::format("no matrix library {} works on {} devices",
                                                 settings_.library, facts.backend)
                                   : fmt::format("{}", fmt::join(reasons, "; "));
    return added;
  }
  const auto prepare = [&]() -> Status {
    added.trials = std::make_unique<ProductTrials>(
        TRY(ProductTrials::create(device_, stream_, problem, settings_)));
    // Solutions of all libraries are added alternately: each library lists the likely ones first,
    // and time may run out before the last.
    for (std::size_t rank = 0, left = 1; left > 0; ++rank) {
      left = 0;
      for (Offer& offer : offers) {
        if (rank >= offer.algorithms.size()) continue;
        added.trials->add(*offer.library, std::move(offer.algorithms[rank]));
        ++left;
      }
    }
    return added.trials->allocate_workspace();
  };
  if (const Status ready = prepare(); !ready.ok()) {
    if (ready.error().kind != ErrorKind::exhausted) return ready.error();
    added = {nullptr, ready.error().message};
  }
  return added;
}

Result<ProductOutcome> ProductTuner::tune(const GemmProblem& problem, const Report& report) {
  const auto began = TuningClock::now();
  ProductOutcome outcome;
  outcome.problem = problem_text(problem);
  const auto nothing = [&](std::string reason) {
    outcome.reason = std::move(reason);
    outcome.spent_seconds = seconds_since(began);
    return outcome;
  };
  const DeviceFacts& facts = device_.facts();
  const double needed = 2.0 * static_cast<double>(operand_bytes(problem));
  if (facts.memory_bytes > 0 && needed > static_cast<double>(facts.memory_bytes)) {
    return nothing("two sets of its operands do not fit into the device's memory");
  }
  if (report("listing solutions")) return stopped_tuning();
  auto added = TRY(add_solutions(problem));
  if (!added.trials) return nothing(std::move(added.reason));
  ProductTrials& trials = *added.trials;
  outcome.solutions = trials.size();
  const double box_seconds = settings_.brute_force ? std::numeric_limits<double>::infinity()
                                                   : settings_.screening_box_seconds;
  auto screened = TRY(screen_all(trials, box_seconds, report, outcome));
  const auto right = TRY(check_fast(trials, screened, report, outcome));
  if (right.empty()) {
    return nothing(fmt::format(
        "none of {} solutions computes it, {} are wrong: {}", trials.size(), outcome.wrong,
        outcome.refused.empty() ? "no time was left to try them" : outcome.refused.front().reason));
  }
  // The default is the first correct solution in the order in which they were added: the preferred
  // library's first choice, if it is correct.
  const std::size_t usual = *std::min_element(right.begin(), right.end());
  outcome.first_times = first_times(screened, usual);
  std::size_t runs = 0;
  const RunContender run = [&](std::size_t i, std::size_t effort) -> Result<std::optional<double>> {
    if (report(fmt::format("timing, run {}", ++runs))) return stopped_tuning();
    const double seconds = shortest_run_seconds(settings_) * static_cast<double>(effort);
    const auto time = TRY(trials.time(i, seconds, seconds));
    if (!time) return std::optional<double>();
    return std::optional(-std::log(*time));
  };
  const auto standings = TRY(race(right, race_rules(settings_), run));
  const auto seconds_of = [&](std::size_t i) -> std::optional<double> {
    for (const Standing& standing : standings) {
      if (standing.contender == i && standing.score) return std::exp(-*standing.score);
    }
    return std::nullopt;
  };
  const std::size_t fastest = standings.front().contender;
  const auto usual_seconds =
      fastest == usual ? TRY(settled_seconds(trials, usual, settings_)) : seconds_of(usual);
  if (!usual_seconds) return nothing("the library's own choice failed while it was timed");
  outcome.usual = outcome.best = trials.solution(usual);
  outcome.fastest = trials.solution(fastest);
  outcome.usual_seconds = *usual_seconds;
  outcome.fastest_seconds = fastest == usual ? *usual_seconds : *seconds_of(fastest);
  const Work work = {.bytes = problem.bytes(), .flops = problem.flops(), .math = problem.a};
  outcome.floor_seconds = floor_seconds(facts, work, Limit::compute);
  if (fastest != usual) {
    if (!TRY(hold_proof(trials, usual, fastest, settings_, report, outcome))) {
      return nothing("a solution that had worked failed in the proof");
    }
    if (outcome.proven) outcome.best = outcome.fastest;
  }
  outcome.spent_seconds = seconds_since(began);
  return outcome;
}

}  // namespace assay

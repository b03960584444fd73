#include "judge/campaign/campaign.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "judge/compare/disturbance.h"
#include "statistics/paired.h"

namespace assay {
namespace {

constexpr int most_attempts = 2;          // a failed unit is retried once
constexpr std::size_t most_failures = 3;  // consecutive failures of an arm

class Campaign {
 public:
  Campaign(const CampaignDesign& design, CampaignHistory history, UnitRunner& runner,
           CampaignObserver& observer)
      : design_(design),
        history_(std::move(history)),
        runner_(runner),
        observer_(observer),
        failures_(design.schedule.arms.size()) {
    for (const UnitLine& line : history_.lines) {
      last_position_ = std::max(last_position_.value_or(0), line.position);
      spent_[{line.position, line.attempt}] =
          std::max(spent_[{line.position, line.attempt}], line.seconds);
      note_taken(line);
    }
  }

  Result<CampaignOutcome> run() {
    for (std::size_t block = 0;; ++block) {
      outcome_.pairs = block * design_.pairs_per_draw;
      if (const auto stop = reason_to_stop(block)) {
        outcome_.stop = *stop;
        break;
      }
      if (!TRY(run_block(block))) {
        outcome_.stop = CampaignStop::interrupted;
        break;
      }
    }
    for (std::size_t arm = 0; arm < failures_.size(); ++arm) {
      if (!is_given_up(arm)) continue;
      for (const Member& member : design_.schedule.arms[arm]) {
        outcome_.given_up.push_back(member.environment);
      }
    }
    outcome_.values = std::move(history_.values);
    return std::move(outcome_);
  }

 private:
  /// Called only between blocks, so that every block is complete.
  std::optional<CampaignStop> reason_to_stop(std::size_t block) {
    if (block > 0) look();
    if (nothing_to_compare()) return CampaignStop::failed;
    if (outcome_.pairs >= design_.least_pairs && outcome_.contrasts > 0 &&
        outcome_.precise == outcome_.contrasts) {
      return CampaignStop::precise;
    }
    if (outcome_.pairs + design_.pairs_per_draw > design_.most_pairs)
      return CampaignStop::most_pairs;
    if (design_.budget_seconds && block > 0 && !is_begun(block)) {
      double spent = 0;
      for (const auto& [turn, seconds] : spent_) spent += seconds;
      if (spent + spent / static_cast<double>(block) > *design_.budget_seconds) {
        return CampaignStop::budget;
      }
    }
    return std::nullopt;
  }

  /// Returns whether an earlier process began the block; it is then finished even if the budget is
  /// spent.
  bool is_begun(std::size_t block) const {
    const std::size_t first = block * design_.pairs_per_draw * design_.schedule.arms.size();
    return last_position_ && *last_position_ >= first;
  }

  bool is_given_up(std::size_t arm) const { return failures_[arm] >= most_failures; }

  bool is_given_up(const std::string& environment) const {
    for (std::size_t arm = 0; arm < failures_.size(); ++arm) {
      for (const Member& member : design_.schedule.arms[arm]) {
        if (member.environment == environment) return is_given_up(arm);
      }
    }
    return false;
  }

  bool is_open(const Contrast& contrast) const {
    return !is_given_up(contrast.baseline) && !is_given_up(contrast.other);
  }

  bool nothing_to_compare() const {
    const auto& contrasts = design_.schedule.contrasts;
    return std::none_of(contrasts.begin(), contrasts.end(),
                        [&](const Contrast& contrast) { return is_open(contrast); });
  }

  void look() {
    outcome_.precise = outcome_.contrasts = 0;
    const double margin = std::log1p(design_.margin);
    for (const Contrast& contrast : design_.schedule.contrasts) {
      if (!is_open(contrast)) continue;
      std::map<std::pair<std::string, std::string>, PairedSeries> by_key;
      const auto disturbed = disturbed_pairs(taken_[contrast.baseline], taken_[contrast.other]);
      for (std::size_t pair = 0; pair < outcome_.pairs; ++pair) {
        if (disturbed.left_out.contains(pair)) continue;
        const auto a = history_.values.find({contrast.baseline, pair});
        const auto b = history_.values.find({contrast.other, pair});
        if (a == history_.values.end() || b == history_.values.end()) continue;
        for (const auto& [key, value] : b->second) {
          const auto same = a->second.find(key);
          if (same == a->second.end()) continue;
          PairedSeries& series = by_key[key];
          series.pairs.push_back(pair);
          series.differences.push_back(*log_time(value.value, value.better) -
                                       *log_time(same->second.value, same->second.better));
        }
      }
      if (by_key.empty()) ++outcome_.contrasts;  // no values yet: not precise
      std::vector<PairedSeries> family;
      for (auto& [key, series] : by_key) family.push_back(std::move(series));
      for (const PairedEffect& effect : paired_effects(family, margin)) {
        ++outcome_.contrasts;
        if (precise_enough(effect, margin)) ++outcome_.precise;
      }
    }
    if (ran_) observer_.looked(outcome_.pairs, outcome_.precise, outcome_.contrasts);
  }

  void note_taken(const UnitLine& line) {
    if (!line.unit.complete || !line.taken_share) return;
    taken_[line.unit.environment][line.unit.pair] = *line.taken_share;
  }

  /// Returns false if interrupted.
  Result<bool> run_block(std::size_t block) {
    for (const Turn& turn : turns_of_block(design_.seed, block, design_.schedule.arms.size(),
                                           design_.pairs_per_draw)) {
      if (observer_.stop_requested()) return false;
      if (nothing_to_compare()) return true;
      if (is_given_up(turn.arm)) continue;
      const int attempt = next_attempt(turn);
      if (attempt > most_attempts) continue;
      if (!TRY(run_turn(turn, attempt))) return false;
    }
    return true;
  }

  /// Returns 1, 2, or more if the turn is settled. Every turn before the last known one is settled:
  /// if it were repeated now, its units would not be adjacent in time to the others of their pair.
  int next_attempt(const Turn& turn) const {
    if (!last_position_ || turn.position > *last_position_) return 1;
    if (turn.position < *last_position_) return most_attempts + 1;
    const Arm& arm = design_.schedule.arms[turn.arm];
    std::set<std::string> complete;
    int tried = 0;
    std::size_t lines_of_try = 0;
    for (const UnitLine& line : history_.lines) {
      if (line.position != turn.position) continue;
      if (line.attempt > tried) lines_of_try = 0;
      tried = std::max(tried, line.attempt);
      ++lines_of_try;
      if (line.unit.complete) complete.insert(line.unit.environment);
    }
    if (complete.size() == arm.size()) return most_attempts + 1;
    // If assay was killed while it wrote the lines of units that ran together, they are repeated
    // together.
    return lines_of_try < arm.size() ? tried : tried + 1;
  }

  /// Returns false if interrupted.
  Result<bool> run_turn(const Turn& turn, int attempt) {
    const Arm& arm = design_.schedule.arms[turn.arm];
    for (; attempt <= most_attempts; ++attempt) {
      std::vector<UnitRequest> requests;
      for (const Member& member : arm) {
        requests.push_back({member, turn.pair, turn.position, attempt});
      }
      observer_.starting(requests);
      ran_ = true;
      std::vector<UnitResult> results = runner_.run(requests);
      for (UnitResult& result : results) {
        if (result.end_of_campaign) return *std::move(result.end_of_campaign);
      }
      if (std::any_of(results.begin(), results.end(),
                      [](const UnitResult& result) { return result.interrupted; })) {
        return false;
      }
      if (TRY(keep(requests, results))) {
        failures_[turn.arm] = 0;
        return true;
      }
      if (observer_.stop_requested()) return false;
    }
    if (++failures_[turn.arm] == most_failures) observer_.gave_up(arm);
    return true;
  }

  /// Writes the lines. Returns true if all units are complete: units that ran together count only
  /// together.
  Result<bool> keep(const std::vector<UnitRequest>& requests, std::vector<UnitResult>& results) {
    const auto failed = std::find_if(results.begin(), results.end(),
                                     [](const UnitResult& result) { return !result.complete; });
    const bool complete = failed == results.end();
    for (std::size_t i = 0; i < requests.size(); ++i) {
      UnitResult& result = results[i];
      if (!complete && result.complete) {
        const auto at = static_cast<std::size_t>(failed - results.begin());
        result.reason =
            fmt::format("{} failed, which ran at the same time", requests[at].member.environment);
      }
      UnitLine line;
      line.unit = {requests[i].member.environment, result.run, requests[i].pair, complete};
      line.position = requests[i].position;
      line.attempt = requests[i].attempt;
      line.begin = result.begin;
      line.end = result.end;
      line.seconds = result.seconds;
      line.exit_status = result.exit_status;
      if (requests.size() == 1) line.taken_share = result.taken_share;
      line.reason = result.reason;
      if (!complete) line.stderr_tail = result.stderr_tail;
      TRY(observer_.finished(line));
      note_taken(line);
      double& spent = spent_[{line.position, line.attempt}];
      spent = std::max(spent, line.seconds);
      if (complete) {
        history_.values[{line.unit.environment, line.unit.pair}] = std::move(result.values);
      }
    }
    return complete;
  }

  const CampaignDesign& design_;
  CampaignHistory history_;
  UnitRunner& runner_;
  CampaignObserver& observer_;
  std::vector<std::size_t> failures_;  // consecutive failures of each arm
  std::optional<std::size_t> last_position_;
  std::map<std::pair<std::size_t, int>, double> spent_;  // seconds by position and attempt
  std::map<std::string, TakenByPair> taken_;             // by environment
  bool ran_ = false;                                     // whether this process ran a unit
  CampaignOutcome outcome_;
};

}  // namespace

std::string_view name_of(CampaignStop stop) {
  switch (stop) {
    case CampaignStop::precise:
      return "precise";
    case CampaignStop::most_pairs:
      return "most_pairs";
    case CampaignStop::budget:
      return "budget";
    case CampaignStop::interrupted:
      return "interrupted";
    case CampaignStop::failed:
      break;
  }
  return "failed";
}

Result<CampaignOutcome> run_campaign(const CampaignDesign& design, CampaignHistory history,
                                     UnitRunner& runner, CampaignObserver& observer) {
  return Campaign(design, std::move(history), runner, observer).run();
}

}  // namespace assay

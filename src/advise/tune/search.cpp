#include "advise/tune/search.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "core/random.h"

namespace assay {
namespace {

constexpr RaceRules race_of_trials = {.fraction = 2, .most_effort = 8};
constexpr double race_share = 0.35;         // share of the budget that is kept for the race
constexpr std::size_t most_finalists = 64;  // with more, chance would decide
constexpr std::size_t most_weighed = 500;   // most settings considered for one choice
constexpr std::size_t refit_runs = 10;      // runs between two fits of the scales
constexpr double likely_to_run = 0.5;

/// The largest number of finalists, a power of 2 and at least 2, whose race costs at most `runs`.
std::size_t finalists_for(std::size_t runs) {
  std::size_t finalists = 2;
  while (finalists < most_finalists && cost_of_race(2 * finalists, race_of_trials) <= runs) {
    finalists *= 2;
  }
  return finalists;
}

class Explorer {
 public:
  Explorer(const ParameterSpace& space, std::uint64_t seed, const RunContender& run)
      : space_(space),
        run_(run),
        random_(seed),
        kinds_(space.kinds()),
        tried_(space.size(), false),
        scales_{std::vector<double>(kinds_.size(), 0.8)},
        failures_{std::vector<double>(kinds_.size(), 0.4)} {}

  std::size_t runs() const { return runs_; }
  bool exhausted() const { return runs_ == space_.size(); }
  /// Whether some setting has a score. Without one nothing can be predicted.
  bool has_scores() const { return !scored_.empty(); }

  Status run_one(std::size_t setting) {
    tried_[setting] = true;
    ++runs_;
    const std::optional<double> score = TRY(run_(setting, 1));
    points_.push_back(space_.point_of(setting));
    ran_.push_back(score ? 1 : 0);
    if (!score) return {};
    scored_.push_back(setting);
    good_points_.push_back(points_.back());
    scores_.push_back(*score);
    return {};
  }

  /// Draws an untried setting uniformly.
  std::size_t any() {
    for (;;) {
      const std::size_t setting = random_.next() % space_.size();
      if (!tried_[setting]) return setting;
    }
  }

  /// The untried setting with the largest expected improvement over the best so far, weighted by
  /// the probability that it runs without failing.
  std::size_t most_promising() {
    std::vector<std::size_t> pool = untried_pool();
    const std::size_t untried = pool.size();
    pool.insert(pool.end(), scored_.begin(), scored_.end());
    const auto predicted = predict(pool);
    double best = predicted[untried].score.mean;
    for (std::size_t i = untried; i < pool.size(); ++i) {
      best = std::max(best, predicted[i].score.mean);
    }
    std::size_t chosen = 0;
    double most = -1;
    for (std::size_t i = 0; i < untried; ++i) {
      const double worth = expected_improvement(predicted[i].score, best) * predicted[i].runs;
      if (worth <= most) continue;
      most = worth;
      chosen = i;
    }
    return pool[chosen];
  }

  /// The `count` settings with the highest expected scores, whether tried or not, but without those
  /// that failed.
  std::vector<std::size_t> best(std::size_t count) {
    if (!has_scores()) return {};
    std::vector<std::size_t> pool = exhausted() ? std::vector<std::size_t>() : untried_pool();
    pool.insert(pool.end(), scored_.begin(), scored_.end());
    const auto predicted = predict(pool);
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < pool.size(); ++i) {
      if (tried_[pool[i]] || predicted[i].runs >= likely_to_run) order.push_back(i);
    }
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return predicted[a].score.mean > predicted[b].score.mean;
    });
    order.resize(std::min(order.size(), count));
    for (std::size_t& one : order) one = pool[one];
    return order;
  }

 private:
  struct Expected {
    Prediction score;
    double runs = 1;  ///< probability that it does not fail
  };

  std::vector<Expected> predict(const std::vector<std::size_t>& settings) {
    if (runs_ >= next_fit_) {
      scales_ = fit_scales(kinds_, good_points_, scores_, scales_);
      next_fit_ = runs_ + std::max(refit_runs, runs_ / 4);
    }
    std::vector<Coordinates> points;
    for (const std::size_t setting : settings) points.push_back(space_.point_of(setting));
    const GaussianProcess scores(kinds_, good_points_, scores_, scales_);
    const auto predicted = scores.predict(points);
    std::vector<Expected> expected(settings.size());
    for (std::size_t i = 0; i < settings.size(); ++i) expected[i].score = predicted[i];
    if (good_points_.size() == points_.size()) return expected;
    const GaussianProcess running(kinds_, points_, ran_, failures_);
    const auto chances = running.predict(points);
    for (std::size_t i = 0; i < settings.size(); ++i) {
      expected[i].runs = std::clamp(chances[i].mean, 0.0, 1.0);
    }
    return expected;
  }

  /// All untried settings; if there are too many, the untried neighbours of the best ones and
  /// others drawn at random.
  std::vector<std::size_t> untried_pool() {
    std::vector<std::size_t> pool;
    if (space_.size() - runs_ <= most_weighed) {
      for (std::size_t i = 0; i < space_.size(); ++i) {
        if (!tried_[i]) pool.push_back(i);
      }
      return pool;
    }
    std::vector<std::size_t> order(scored_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [this](std::size_t a, std::size_t b) { return scores_[a] > scores_[b]; });
    constexpr std::size_t centres = 10;
    for (std::size_t i = 0; i < std::min(centres, order.size()); ++i) {
      for (const std::size_t neighbour : space_.neighbours_of(scored_[order[i]])) {
        if (!tried_[neighbour]) pool.push_back(neighbour);
      }
    }
    while (pool.size() < most_weighed) pool.push_back(any());
    std::sort(pool.begin(), pool.end());
    pool.erase(std::unique(pool.begin(), pool.end()), pool.end());
    return pool;
  }

  const ParameterSpace& space_;
  const RunContender& run_;
  Random random_;
  const std::vector<CoordinateKind> kinds_;
  std::vector<bool> tried_;
  std::size_t runs_ = 0, next_fit_ = 0;
  std::vector<Coordinates> points_, good_points_;  // points of all runs; points of those with a
                                                   // score
  std::vector<double> ran_, scores_;               // 1 or 0 for each run; scores at good_points_
  std::vector<std::size_t> scored_;                // the settings at good_points_
  ProcessScales scales_;
  const ProcessScales failures_;
};

double spent(const SearchBudget& budget, std::size_t runs) {
  const double of_runs = static_cast<double>(runs) / static_cast<double>(budget.runs);
  return budget.time_spent ? std::max(of_runs, budget.time_spent()) : of_runs;
}

/// Explores until only the race's share of the budget is left, and returns the finalists.
Result<std::vector<std::size_t>> explore(const ParameterSpace& space, const SearchBudget& budget,
                                         std::uint64_t seed, const RunContender& run,
                                         std::size_t& explored) {
  Explorer explorer(space, seed, run);
  TRY(explorer.run_one(space.usual()));
  const std::size_t at_random = std::max(2 * space.parameters().size() + 1, budget.runs / 8);
  while (!explorer.exhausted() && spent(budget, explorer.runs()) < 1 - race_share) {
    const bool blind = explorer.runs() <= at_random || !explorer.has_scores();
    TRY(explorer.run_one(blind ? explorer.any() : explorer.most_promising()));
  }
  explored = explorer.runs();
  const double share = spent(budget, explored);
  const double runs_left = static_cast<double>(explored) * std::max(0.0, 1 - share) / share;
  const std::size_t most = finalists_for(static_cast<std::size_t>(runs_left));
  std::vector<std::size_t> finalists = explorer.best(most);
  if (std::count(finalists.begin(), finalists.end(), space.usual()) == 0) {
    if (finalists.size() == most) finalists.pop_back();
    finalists.push_back(space.usual());
  }
  return finalists;
}

}  // namespace

std::optional<std::size_t> runs_to_race_all(std::size_t settings, const SearchBudget& budget) {
  // With a time budget a race of all settings is not an option, because its duration is not known
  // in advance.
  if (budget.time_spent) return std::nullopt;
  const std::size_t runs = cost_of_race(settings, race_of_trials);
  return runs <= budget.runs ? std::optional(runs) : std::nullopt;
}

Result<SettingsFound> search_settings(const ParameterSpace& space, const SearchBudget& budget,
                                      std::uint64_t seed, const RunContender& run) {
  SettingsFound result;
  std::vector<std::size_t> finalists(space.size());
  std::iota(finalists.begin(), finalists.end(), std::size_t{0});
  if (!runs_to_race_all(space.size(), budget)) {
    finalists = TRY(explore(space, budget, seed, run, result.explored));
  }
  result.finalists = TRY(race(finalists, race_of_trials, run));
  return result;
}

}  // namespace assay

#include "advise/tune/race.h"

#include <algorithm>
#include <iterator>

namespace assay {
namespace {

struct Runner {
  std::size_t contender = 0;
  double sum = 0;  // sum of score times effort
  std::size_t effort = 0;
  bool failed = false;

  double mean() const { return sum / static_cast<double>(effort); }
  Standing standing() const {
    return {contender, failed ? std::nullopt : std::optional(mean()), effort};
  }
};

Status run_once(Runner& runner, std::size_t effort, const RunContender& run) {
  const std::optional<double> score = TRY(run(runner.contender, effort));
  runner.effort += effort;
  runner.failed = !score;
  if (score) runner.sum += *score * static_cast<double>(effort);
  return {};
}

/// Runs one round: one run of the full effort for each contender, or as many passes over all of
/// them with effort 1.
Status run_round(std::vector<Runner>& runners, std::size_t effort, const RaceRules& rules,
                 bool& backward, const RunContender& run) {
  const std::size_t passes = rules.longer_runs ? 1 : effort;
  for (std::size_t pass = 0; pass < passes; ++pass) {
    for (std::size_t i = 0; i < runners.size(); ++i) {
      Runner& runner = runners[backward ? runners.size() - 1 - i : i];
      if (!runner.failed) TRY(run_once(runner, rules.longer_runs ? effort : 1, run));
    }
    backward = !backward;
  }
  return {};
}

}  // namespace

Result<std::vector<Standing>> race(const std::vector<std::size_t>& contenders,
                                   const RaceRules& rules, const RunContender& run) {
  std::vector<Runner> runners;
  for (const std::size_t contender : contenders) runners.push_back({contender});
  std::vector<Standing> failed, dropped;  // the contenders that left last come first
  bool backward = false;
  for (std::size_t effort = 1; !runners.empty(); effort *= rules.fraction) {
    TRY(run_round(runners, effort, rules, backward, run));
    const auto sound = std::stable_partition(runners.begin(), runners.end(),
                                             [](const Runner& runner) { return !runner.failed; });
    for (auto at = sound; at != runners.end(); ++at) failed.push_back(at->standing());
    runners.erase(sound, runners.end());
    std::stable_sort(runners.begin(), runners.end(),
                     [](const Runner& a, const Runner& b) { return a.mean() > b.mean(); });
    std::size_t kept = runners.size() / rules.fraction;
    while (kept > 0 && kept < runners.size() &&
           runners.front().mean() - runners[kept].mean() < rules.indistinct) {
      ++kept;
    }
    // the race is over
    if (kept <= 1 || effort * rules.fraction > rules.most_effort) kept = 0;
    std::vector<Standing> leaving;
    for (std::size_t i = kept; i < runners.size(); ++i) leaving.push_back(runners[i].standing());
    dropped.insert(dropped.begin(), leaving.begin(), leaving.end());
    runners.resize(kept);
  }
  dropped.insert(dropped.end(), failed.begin(), failed.end());
  return dropped;
}

std::size_t cost_of_race(std::size_t contenders, const RaceRules& rules) {
  std::size_t cost = 0;
  for (std::size_t effort = 1; contenders > 0; effort *= rules.fraction) {
    cost += contenders * effort;
    const std::size_t kept = contenders / rules.fraction;
    contenders = kept <= 1 || effort * rules.fraction > rules.most_effort ? 0 : kept;
  }
  return cost;
}

}  // namespace assay

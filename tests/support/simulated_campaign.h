// Simulated campaigns with a known truth. Their units run in the order of real ones, and the real
// rules judge them after every block.
#pragma once

#include <array>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "core/random.h"
#include "judge/campaign/campaign.h"
#include "judge/campaign/schedule.h"
#include "judge/compare/family.h"

namespace assay {

enum class SimulatedArm { a, b, again };  ///< `again`: A', the control

/// The time of one unit of an arm; `turn` counts the units of the campaign from 0.
using UnitTime = std::function<double(SimulatedArm arm, std::size_t turn, Random& random)>;

struct SimulatedOutcome {
  Verdict verdict = Verdict::inconclusive;
  std::size_t pairs = 0;
};

inline SimulatedOutcome simulate_campaign(const UnitTime& time, const VerdictRule& rule,
                                          Random& random) {
  const CampaignDesign design;
  const double margin = rule.log_margin();
  const std::uint64_t seed = random.next();
  PairedMember member;
  PairedSeries& b_to_a = member.differences;
  PairedSeries& again_to_a = member.control.emplace();
  std::array<double, 3> logs = {};
  for (std::size_t pair = 0;; ++pair) {
    for (const Turn& turn : turns_of_block(seed, pair, logs.size(), 1)) {
      logs[turn.arm] = std::log(time(static_cast<SimulatedArm>(turn.arm), turn.position, random));
    }
    b_to_a.pairs.push_back(pair);
    b_to_a.differences.push_back(logs[1] - logs[0]);
    again_to_a.pairs.push_back(pair);
    again_to_a.differences.push_back(logs[2] - logs[0]);
    if (pair + 1 < design.least_pairs) continue;
    if (pair + 1 < design.most_pairs &&
        !precise_enough(paired_effects({&b_to_a, 1}, margin).front(), margin)) {
      continue;
    }
    return {judge_family({&member, 1}, 1, rule).members.front().ruling.verdict, pair + 1};
  }
}

/// Counts how often each verdict was given.
struct VerdictRates {
  std::array<std::size_t, verdict_count> counts = {};
  std::size_t campaigns = 0;
  std::size_t pairs = 0;

  double share(Verdict verdict) const {
    return static_cast<double>(counts[static_cast<std::size_t>(verdict)]) /
           static_cast<double>(campaigns);
  }
  double different() const {
    return share(Verdict::slower) + share(Verdict::faster) + share(Verdict::shifted);
  }
  double mean_pairs() const { return static_cast<double>(pairs) / static_cast<double>(campaigns); }
};

inline VerdictRates simulate_campaigns(const UnitTime& time, std::size_t campaigns,
                                       std::uint64_t seed) {
  const VerdictRule rule;
  VerdictRates rates;
  Random random(seed);
  for (std::size_t i = 0; i < campaigns; ++i) {
    const SimulatedOutcome outcome = simulate_campaign(time, rule, random);
    ++rates.counts[static_cast<std::size_t>(outcome.verdict)];
    rates.pairs += outcome.pairs;
    ++rates.campaigns;
  }
  return rates;
}

/// A scenario: the times of the units of each arm.
struct Scenario {
  std::string name;
  UnitTime time;
};

/// Returns noise of a unit such that the difference of two units has the standard deviation
/// `paired`.
inline double normal_noise(Random& random, double paired) {
  return random.normal() * paired / std::sqrt(2.0);
}

/// Returns noise with mean 0 and a slow tail: most units are a little faster, a few much slower.
inline double exponential_noise(Random& random, double paired) {
  return (-std::log(1 - random.uniform()) - 1) * paired / std::sqrt(2.0);
}

/// Returns the scenarios of docs/method.md, "Verdicts".
inline std::vector<Scenario> verdict_scenarios() {
  const auto percent = [](double value) { return value / 100; };
  std::vector<Scenario> list;
  const auto add = [&](std::string name, auto log_time) {
    list.push_back(
        {std::move(name), [log_time](SimulatedArm arm, std::size_t turn, Random& random) {
           return 1e-4 * std::exp(log_time(arm, turn, random));
         }});
  };
  for (const double s : {0.4, 1.0, 2.0, 3.0}) {
    const std::string noise = std::to_string(s).substr(0, 3) + "%";
    add("equal, normal " + noise, [=](SimulatedArm, std::size_t, Random& random) {
      return normal_noise(random, percent(s));
    });
    add("+2%, normal " + noise, [=](SimulatedArm arm, std::size_t, Random& random) {
      return (arm == SimulatedArm::b ? std::log(1.02) : 0) + normal_noise(random, percent(s));
    });
    add("+2%, slow tail " + noise, [=](SimulatedArm arm, std::size_t, Random& random) {
      return (arm == SimulatedArm::b
                  ? std::log(1.02) + exponential_noise(random, std::sqrt(2.0) * percent(s))
                  : normal_noise(random, 0.001));
    });
    // A is noisy enough for the correction of a slow tail to be left out (allow_for_control()).
    add("+2%, slow tail and noise " + noise, [=](SimulatedArm arm, std::size_t, Random& random) {
      const double unit = std::sqrt(2.0) * percent(s);
      return arm == SimulatedArm::b ? std::log(1.02) + exponential_noise(random, 0.9 * unit)
                                    : normal_noise(random, 0.45 * unit);
    });
  }
  add("equal, drift of 2% over 30 units, 0.4%",
      [=](SimulatedArm, std::size_t turn, Random& random) {
        return 0.02 * static_cast<double>(turn) / 30 + normal_noise(random, 0.004);
      });
  add("equal, skewed both, 1%",
      [=](SimulatedArm, std::size_t, Random& random) { return exponential_noise(random, 0.01); });
  add("one unit of B in ten 10% slower, 0.4%", [=](SimulatedArm arm, std::size_t, Random& random) {
    const bool slow = arm == SimulatedArm::b && random.uniform() < 0.1;
    return (slow ? 0.1 : 0) + normal_noise(random, 0.004);
  });
  add("control moves by 2%, 0.4%", [=](SimulatedArm arm, std::size_t, Random& random) {
    return (arm == SimulatedArm::again ? 0.02 : 0) + normal_noise(random, 0.004);
  });
  add("+5%, normal 1.0%", [=](SimulatedArm arm, std::size_t, Random& random) {
    return (arm == SimulatedArm::b ? 0.05 : 0) + normal_noise(random, 0.01);
  });
  add("+1%, normal 1.0%", [=](SimulatedArm arm, std::size_t, Random& random) {
    return (arm == SimulatedArm::b ? 0.01 : 0) + normal_noise(random, 0.01);
  });
  return list;
}

}  // namespace assay

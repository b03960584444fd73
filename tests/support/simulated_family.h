// Simulated campaigns of many cells with a known truth: their units run in the order of real ones,
// and the real rule judges all cells together.
#pragma once

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "core/random.h"
#include "judge/campaign/campaign.h"
#include "judge/campaign/schedule.h"
#include "judge/compare/family.h"

namespace assay {

enum class Noise {
  normal,
  t3,  ///< Student's t with 3 degrees of freedom and the same deviation: some values are far away
  exponential,  ///< skewed: most units are a little faster, a few much slower
};

struct FamilyWorld {
  std::size_t cells = 1;
  double paired_noise = 0.01;  ///< standard deviation of the difference of two units
  Noise noise = Noise::normal;
  double correlation = 0;  ///< correlation of the noise of two cells
  double drift = 0;        ///< autocorrelation of consecutive units, whatever their side
  /// Autocorrelation of a side with itself one pair ago, as for two machines, which no order of
  /// measuring makes alike. A' is then A with a little noise.
  double own_drift = 0;
  bool only_b_is_noisy = false;
  std::vector<double> slower;  ///< added to logarithms of B's times, by cell; missing cells: 0
  std::size_t least_pairs = 10, most_pairs = 10;
};

struct FamilyOutcome {
  JudgedFamily family;
  std::vector<CellRuling> cells;
  Ruling whole;
  std::size_t pairs = 0;
};

/// One stream of noise with standard deviation 1, in which each value depends on the one before it.
class NoiseStream {
 public:
  NoiseStream(Noise noise, double autocorrelation) : noise_(noise), rho_(autocorrelation) {}

  double next(Random& random) {
    const double fresh = draw(random);
    value_ = begun_ ? rho_ * value_ + std::sqrt(1 - rho_ * rho_) * fresh : fresh;
    begun_ = true;
    return value_;
  }

 private:
  double draw(Random& random) const {
    switch (noise_) {
      case Noise::normal:
        return random.normal();
      case Noise::t3:
        return random.normal() / std::sqrt(2 * random.gamma(1.5) / 3) / std::sqrt(3.0);
      case Noise::exponential:
        break;
    }
    return -std::log(1 - random.uniform()) - 1;
  }

  Noise noise_;
  double rho_, value_ = 0;
  bool begun_ = false;
};

inline FamilyOutcome simulate_family(const FamilyWorld& world, Random& random) {
  constexpr std::size_t arms = 3;  // A, B, A'
  const VerdictRule terms;
  const std::uint64_t seed = random.next();
  const double unit_deviation = world.paired_noise / (world.only_b_is_noisy ? 1 : std::sqrt(2.0));
  const bool apart = world.own_drift > 0;  // whether the sides have separate streams
  const std::vector<NoiseStream> streams(apart ? 2 : 1,
                                         {world.noise, apart ? world.own_drift : world.drift});
  std::vector<NoiseStream> shared = streams;
  std::vector<std::vector<NoiseStream>> own(world.cells, streams);
  std::vector<PairedMember> members(world.cells);
  for (std::size_t cell = 0; cell < world.cells; ++cell) {
    members[cell].cell = cell;
    members[cell].control.emplace();
  }
  FamilyOutcome outcome;
  std::vector<std::array<double, arms>> logs(world.cells);
  for (std::size_t pair = 0;; ++pair) {
    for (const Turn& turn : turns_of_block(seed, pair, arms, 1)) {
      if (apart && turn.arm == 2) continue;
      const bool is_b = turn.arm == 1;
      const std::size_t stream = apart && is_b ? 1 : 0;
      const double common = shared[stream].next(random);
      for (std::size_t cell = 0; cell < world.cells; ++cell) {
        const double noise = std::sqrt(world.correlation) * common +
                             std::sqrt(1 - world.correlation) * own[cell][stream].next(random);
        const double slower = cell < world.slower.size() ? world.slower[cell] : 0;
        logs[cell][turn.arm] =
            (is_b || !world.only_b_is_noisy ? unit_deviation * noise : 0) + (is_b ? slower : 0);
      }
    }
    for (std::size_t cell = 0; apart && cell < world.cells; ++cell) {
      logs[cell][2] = logs[cell][0] + 0.3 * unit_deviation * random.normal();
    }
    for (std::size_t cell = 0; cell < world.cells; ++cell) {
      PairedMember& member = members[cell];
      for (const auto& [series, arm] :
           {std::pair{&member.differences, 1}, std::pair{&*member.control, 2}}) {
        series->pairs.push_back(pair);
        series->differences.push_back(logs[cell][static_cast<std::size_t>(arm)] - logs[cell][0]);
      }
    }
    outcome.pairs = pair + 1;
    if (outcome.pairs < world.least_pairs) continue;
    if (outcome.pairs >= world.most_pairs) break;
    std::vector<PairedSeries> family;
    for (const PairedMember& member : members) family.push_back(member.differences);
    const std::vector<PairedEffect> effects = paired_effects(family, terms.log_margin());
    if (std::ranges::all_of(effects, [&](const PairedEffect& effect) {
          return precise_enough(effect, terms.log_margin());
        })) {
      break;
    }
  }
  outcome.family = judge_family(members, 1, terms);
  for (const JudgedMember& member : outcome.family.members) {
    outcome.cells.push_back({member.ruling, member.effect.mean});
  }
  outcome.whole = judge_whole(outcome.cells, outcome.family.mean, terms);
  return outcome;
}

}  // namespace assay

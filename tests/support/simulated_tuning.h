// An artificial program to tune: 2,000 settings with one planted best, noise, crashes and hangs.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "advise/tune/parameter_space.h"
#include "core/random.h"

namespace assay {

inline std::vector<std::string> as_texts(std::initializer_list<int> values) {
  std::vector<std::string> texts;
  for (const int value : values) texts.push_back(std::to_string(value));
  return texts;
}

/// Blocks, warps and the order of a tiled GEMM, which are typical tuning parameters.
inline ParameterSpace simulated_parameters() {
  auto space = ParameterSpace::make({{"block_m", as_texts({16, 32, 64, 128, 256}), 1},
                                     {"block_n", as_texts({16, 32, 64, 128, 256}), 1},
                                     {"block_k", as_texts({16, 32, 64, 128}), 0},
                                     {"warps", as_texts({1, 2, 4, 8, 16}), 2},
                                     {"order", {"rows", "columns", "swizzled", "grouped"}, 0}},
                                    {});
  if (!space.ok()) std::abort();
  return *std::move(space);
}

/// Speed increases towards the best setting, and the best value of one parameter depends on
/// another. Large tiles and some random settings crash (a hang is the same to a search).
class SimulatedProgram {
 public:
  struct Kind {
    double noise = 0.02;
    double steepness = 0.02;  ///< least loss per step away from the best; up to six times as much
    double roughness = 0.04;  ///< largest random loss of a setting, which cannot be learnt
    bool alike = false;       ///< all settings have the same speed
  };
  SimulatedProgram(const ParameterSpace& space, const Kind& kind, std::uint64_t seed)
      : space_(space), kind_(kind), random_(seed) {
    do {
      best_ = random_.next() % space.size();
    } while (crashes(best_));
    for (double& one : weight_) one = kind.steepness * (1 + 5 * random_.uniform());
    twist_ = 2 * kind.steepness * random_.uniform();
    for (std::size_t i = 0; i < space.size(); ++i) {
      hangs_.push_back(random_.uniform() < 0.02 && i != best_ && i != space.usual());
      roughness_.push_back(i == best_ ? 0 : kind.roughness * random_.uniform());
    }
  }

  /// Returns ln of the speed without noise; 0 is the best.
  double speed(std::size_t setting) const {
    if (kind_.alike) return 0;
    const auto at = space_.values_of(setting), best = space_.values_of(best_);
    double loss = roughness_[setting] + 2 * kind_.steepness * (at[4] != best[4]);
    double apart[4] = {};
    for (std::size_t i = 0; i < 4; ++i) {
      apart[i] = static_cast<double>(at[i]) - static_cast<double>(best[i]);
      loss += weight_[i] * apart[i] * apart[i];
    }
    return -loss - twist_ * std::abs(apart[0] + apart[1]);
  }

  /// Returns the speed with noise; empty if the program crashed or hung.
  std::optional<double> run(std::size_t setting) {
    ++runs_;
    if (crashes(setting) || hangs_[setting]) return std::nullopt;
    return speed(setting) + kind_.noise * random_.normal();
  }
  std::size_t runs() const { return runs_; }

 private:
  bool crashes(std::size_t setting) const {
    const auto at = space_.values_of(setting);
    return at[0] + at[1] + at[2] > 9;
  }

  const ParameterSpace& space_;
  const Kind kind_;
  Random random_;
  std::size_t best_ = 0, runs_ = 0;
  double weight_[4] = {}, twist_ = 0;
  std::vector<bool> hangs_;
  std::vector<double> roughness_;
};

}  // namespace assay

// The order of a campaign's measurements. Pure functions of the plan and its seed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "judge/campaign/plan.h"

namespace assay {

/// One process that measures a unit of an environment; `environment` is the name of its store.
struct Member {
  std::string environment;
  std::size_t index = 0;  ///< number of the environment in the plan
  bool operator==(const Member&) const = default;
};

/// What is measured at one time: one process, or several that run together.
using Arm = std::vector<Member>;

/// Two environments, each named by its store, whose units are compared pair by pair.
struct Contrast {
  std::string baseline, other;
};

/// What a campaign measures and compares.
struct Schedule {
  std::vector<Arm> arms;            ///< each is measured once per pair
  std::vector<Contrast> contrasts;  ///< the campaign ends when these are precise
};

/// Returns the arms: the baseline, every other environment and, if planned, the control; in a
/// study, each partition, all together and, if planned, the whole device. The baseline is compared
/// with the others, or with the control if there are none.
Schedule schedule_of(const CampaignPlan& plan);

/// One arm's turn.
struct Turn {
  std::size_t arm = 0;
  std::size_t pair = 0;
  std::size_t position = 0;  ///< in the whole campaign, from 0
  bool operator==(const Turn&) const = default;
};

/// Returns the turns of block `block`: pairs whose order is drawn together from the seed
/// (read_pairs_per_draw()). In every pair each arm has one turn, so that its units are as close in
/// time as possible. Each pair has a separate random order, on which the test of differences
/// depends. In a campaign of an older version one draw decided two pairs, and the second has the
/// reverse order of the first.
std::vector<Turn> turns_of_block(std::uint64_t seed, std::size_t block, std::size_t arms,
                                 std::size_t pairs_per_draw);

}  // namespace assay

// The order of a campaign's measurements. Pure functions of the plan and its seed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "judge/campaign/plan.h"

namespace assay {

/// One process that measures a unit of an environment; `environment` names its store.
struct Member {
  std::string environment;
  std::size_t index = 0;  ///< of the environment in the plan
  bool operator==(const Member&) const = default;
};

/// What is measured at one moment: one process, or several that run together.
using Arm = std::vector<Member>;

/// Two environments whose units are compared pair by pair, by the names of their stores.
struct Contrast {
  std::string baseline, other;
};

struct Schedule {
  std::vector<Arm> arms;
  std::vector<Contrast> contrasts;  ///< whose precision ends the campaign
};

/// The baseline, every other environment and the control; in a study, each partition, all together,
/// and the whole device.
Schedule schedule_of(const CampaignPlan& plan);

/// One arm's turn.
struct Turn {
  std::size_t arm = 0;
  std::size_t pair = 0;
  std::size_t position = 0;  ///< in the whole campaign, from 0
  bool operator==(const Turn&) const = default;
};

/// The turns of block `block`: pairs whose order is drawn from the seed at once
/// (campaign/folder.h). In every pair each arm has one turn, so that its units are as close
/// together in time as they can be, and each pair has an order of its own: a coin of its own, on
/// which the test of differences stands. In a campaign that was begun when two pairs had one draw,
/// the second pair has the reverse order of the first.
std::vector<Turn> turns_of_block(std::uint64_t seed, std::size_t block, std::size_t arms,
                                 std::size_t pairs_per_draw);

}  // namespace assay

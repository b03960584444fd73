#include "judge/campaign/schedule.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/random.h"
#include "results/store/campaign_reader.h"

namespace assay {
namespace {

Schedule schedule_of_study(const CampaignPlan& plan) {
  Schedule schedule;
  const auto index_of = [&](const std::string& name) {
    std::size_t index = 0;
    while (plan.environments[index].name != name) ++index;  // the plan's reader has checked it
    return index;
  };
  for (const std::string& name : plan.study->each)
    schedule.arms.push_back({{name, index_of(name)}});
  Arm together;
  for (const std::string& name : plan.study->together) {
    together.push_back({together_of(name), index_of(name)});
    schedule.contrasts.push_back({name, together_of(name)});
  }
  schedule.arms.push_back(std::move(together));
  const std::string& whole = plan.study->whole;
  if (!whole.empty()) schedule.arms.push_back({{whole, index_of(whole)}});
  return schedule;
}

}  // namespace

Schedule schedule_of(const CampaignPlan& plan) {
  if (plan.study) return schedule_of_study(plan);
  Schedule schedule;
  const std::string& baseline = plan.environments.front().name;
  for (std::size_t i = 0; i < plan.environments.size(); ++i) {
    schedule.arms.push_back({{plan.environments[i].name, i}});
    if (i > 0) schedule.contrasts.push_back({baseline, plan.environments[i].name});
  }
  if (plan.control) schedule.arms.push_back({{control_of(baseline), 0}});
  if (schedule.contrasts.empty()) schedule.contrasts.push_back({baseline, control_of(baseline)});
  return schedule;
}

std::vector<Turn> turns_of_block(std::uint64_t seed, std::size_t block, std::size_t arms,
                                 std::size_t pairs_per_draw) {
  // Each block has its own random stream, so that a continued campaign draws the same orders.
  Random random(seed ^ (0x9E3779B97F4A7C15ull * (block + 1)));
  std::vector<std::size_t> order(arms);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t i = arms; i > 1; --i) {  // Fisher and Yates
    const auto j = static_cast<std::size_t>(random.uniform() * static_cast<double>(i));
    std::swap(order[i - 1], order[j]);
  }
  std::vector<Turn> turns;
  const std::size_t first = block * pairs_per_draw;
  std::size_t position = first * arms;
  for (std::size_t pair = first; pair < first + pairs_per_draw; ++pair) {
    for (const std::size_t arm : order) turns.push_back({arm, pair, position++});
    std::reverse(order.begin(), order.end());
  }
  return turns;
}

}  // namespace assay

#include "measure/sampling/team_plan.h"

#include "ranks/team/agreement.h"
#include "ranks/team/wire.h"

namespace assay {
namespace {

constexpr std::uint64_t most_team_cells = 100000, most_axes = 100;

}  // namespace

Result<TeamPlan> plan_of_rank_0(Team& team, const TeamPlan& mine) {
  if (team.size() == 1) return mine;
  std::string payload;
  put(payload, mine.seed);
  put(payload, std::uint64_t{mine.cells.size()});
  for (const Cell& cell : mine.cells) {
    put(payload, cell.benchmark());
    put(payload, std::uint64_t{cell.values().size()});
    for (const auto& [axis, value] : cell.values()) {
      put(payload, axis);
      put(payload, value);
    }
  }
  const std::string heard = TRY(from_rank_0(team, "spreading the plan", std::move(payload)));
  PayloadReader reader(heard);
  TeamPlan plan;
  plan.seed = reader.number();
  const std::uint64_t cells = reader.number();
  for (std::uint64_t i = 0; i < cells && cells <= most_team_cells && reader.ok(); ++i) {
    std::string benchmark = reader.text();
    std::vector<std::pair<std::string, std::string>> values;
    const std::uint64_t axes = reader.number();
    for (std::uint64_t k = 0; k < axes && axes <= most_axes && reader.ok(); ++k) {
      std::string axis = reader.text();
      values.emplace_back(std::move(axis), reader.text());
    }
    plan.cells.emplace_back(std::move(benchmark), std::move(values));
  }
  if (!reader.ok() || plan.cells.size() != cells) {
    return Error{ErrorKind::failed, "rank 0 sent an incomplete plan"};
  }
  return plan;
}

}  // namespace assay

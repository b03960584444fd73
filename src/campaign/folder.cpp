#include "campaign/folder.h"

#include <fmt/format.h>

#include <set>
#include <system_error>

#include "campaign/unit_line.h"

namespace assay {

Result<std::vector<CampaignUnit>> read_units(const std::filesystem::path& folder) {
  if (!is_campaign(folder)) {
    return Error{ErrorKind::usage,
                 fmt::format("{} is no campaign: {} and {} must lie in it", folder.string(),
                             campaign_plan_name, campaign_units_name)};
  }
  std::vector<CampaignUnit> units;
  std::set<std::pair<std::string, std::size_t>> complete;
  for (UnitLine& line : TRY(read_unit_lines(folder))) {
    CampaignUnit& unit = line.unit;
    if (unit.complete && !complete.insert({unit.environment, unit.pair}).second) {
      unit.complete = false;
    }
    units.push_back(std::move(unit));
  }
  return units;
}

bool is_campaign(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path / campaign_plan_name, ignored) &&
         std::filesystem::is_regular_file(path / campaign_units_name, ignored);
}

std::string control_of(std::string_view name) {
  return fmt::format("{}-control", name);
}

}  // namespace assay

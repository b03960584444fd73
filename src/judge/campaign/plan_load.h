// A campaign plan's `load`: a load on LLM servers as a cell; each environment has its own servers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "core/yaml_text.h"
#include "judge/campaign/plan.h"
#include "measure/grid/external_command.h"

namespace assay {

/// Returns the keys of a plan's `load`: the options of `assay load`, without "--", that define the
/// load.
const std::vector<std::string>& load_keys();

/// Returns the command for the load in the map `value`, without its servers. `seed` is used if the
/// map has none. Error: usage, "FILE:LINE: ...".
Result<ExternalCommand> read_load(const YamlValue& value, std::string_view file,
                                  std::uint64_t seed);

/// Reads PlannedEnvironment::servers from an environment's `url`, or `spawn` and `servers`. Error:
/// usage, "FILE:LINE: ...".
Result<std::vector<std::string>> read_load_servers(const YamlReader& environment);

/// Returns the plan's suite `commands` as one unit of `environment` measures it. Variables of the
/// environment, "$NAME" and "${NAME}", are replaced by their values, the load gets its servers, and
/// ASSAY_PAIR is the number of the pair, from 1. `again` means that the environment is measured a
/// second time within the pair, as the control or together with others. ASSAY_PROMPTS then requests
/// other prompts, which no prefix cache of a running server holds.
Suite commands_of_unit(const CampaignPlan& plan, const PlannedEnvironment& environment,
                       std::size_t pair, bool again = false);

}  // namespace assay

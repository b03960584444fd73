// A campaign plan's `load`: a load on LLM servers as a cell, with servers of each environment.
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

/// The keys of a plan's `load`: the options of `assay load`, without "--", that say how much is
/// sent.
const std::vector<std::string>& load_keys();

/// The command that loads servers as `value`, the map `load`, says; without the servers. `seed`:
/// where the map has none. Error: usage, "FILE:LINE: ...".
Result<ExternalCommand> read_load(const YamlValue& value, std::string_view file,
                                  std::uint64_t seed);

/// PlannedEnvironment::servers from an environment's `url`, or `spawn` and `servers`. Error: usage,
/// "FILE:LINE: ...".
Result<std::vector<std::string>> read_load_servers(const YamlReader& environment);

/// The suite `commands` of a plan as one unit of `environment` measures it: in its commands the
/// variables of the environment, "$NAME" and "${NAME}", have their values, the load has its
/// servers, and ASSAY_PAIR is the number of the pair, from 1. `again`: the environment is measured
/// a second time within the pair, as the control or together with others; ASSAY_PROMPTS then asks
/// for other prompts, which no prefix cache of a running server has seen.
Suite commands_of_unit(const CampaignPlan& plan, const PlannedEnvironment& environment,
                       std::size_t pair, bool again = false);

}  // namespace assay

// Reads `load` in a campaign's plan: a load on LLM servers, which a unit creates with `assay load`.
// Each of its points, such as a request rate, is a cell. Each environment has its own servers.
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

/// Returns the keys that a plan's `load` may have: the options of `assay load`, without "--", that
/// define the load, as opposed to its servers and its output.
const std::vector<std::string>& load_keys();

/// Returns the `assay load` command for the load in the map `value`. commands_of_unit() adds the
/// servers to its arguments. `seed` is used if the map has none. Error: usage, "FILE:LINE: ...".
Result<ExternalCommand> read_load(const YamlValue& value, std::string_view file,
                                  std::uint64_t seed);

/// Returns PlannedEnvironment::servers, the arguments of `assay load` that name or start an
/// environment's servers. `environment` has `url`, or `spawn` and perhaps `servers`, their number.
/// Error: usage, "FILE:LINE: ...".
Result<std::vector<std::string>> read_load_servers(const YamlReader& environment);

/// Returns the plan's suite `commands`, which must be set, as one unit of `environment` measures
/// it. Variables of the environment, "$NAME" and "${NAME}", are replaced by their values, and the
/// load gets its servers. `pair` counts from 0; the commands' variable ASSAY_PAIR counts from 1.
/// `again` means that the environment is measured a second time within the pair, as the control or
/// together with others. ASSAY_PROMPTS is then 2, which requests other prompts, because servers
/// that keep running may have cached those of the pair. It is not set if each unit starts its
/// servers.
Suite commands_of_unit(const CampaignPlan& plan, const PlannedEnvironment& environment,
                       std::size_t pair, bool again = false);

}  // namespace assay

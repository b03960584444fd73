// What one rank cannot do, no rank may begin: a collective operation that only some ranks enter
// never ends.
#pragma once

#include <string_view>

#include "core/result.h"
#include "team/team.h"

namespace assay {

/// All ranks say how `step` went on them. Error: this rank's own; else that of the lowest rank that
/// has one, of the same kind and naming that rank; else what Team::exchange says.
Status agree(Team& team, std::string_view step, const Status& mine);

}  // namespace assay

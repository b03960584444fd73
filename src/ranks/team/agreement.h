// What ranks agree on before they continue together.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "ranks/team/team.h"

namespace assay {

constexpr std::size_t most_message = 4000;  ///< bytes kept of an error that another rank tells

/// Ok if all of `statuses`, one per rank, are ok. Else the first error that is not merely another
/// rank's silence, or if there is none, the first error; with the rank's name.
Status first_error(const Team& team, const std::vector<Status>& statuses);

/// Ok if `mine` is ok on every rank; else the same error on all ranks, first_error(). May also
/// return an error of Team::exchange.
Status agree(Team& team, std::string_view step, const Status& mine);

/// Returns rank 0's text on all ranks. Error: as Team::exchange.
Result<std::string> from_rank_0(Team& team, std::string_view step, std::string mine);

/// Converts a status to text and back, to exchange it between ranks. What comes back may be shown:
/// it is one line without control characters.
std::string to_text(const Status& status);
Status status_from_text(std::string_view text);

}  // namespace assay

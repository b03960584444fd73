// What ranks agree upon before they go on together.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "ranks/team/team.h"

namespace assay {

/// Ok if all of `statuses`, one per rank, are; else the error of the first rank whose error is not
/// another one's silence, or of the first, with the rank's name.
Status first_error(const Team& team, const std::vector<Status>& statuses);

/// Ok if `mine` is ok on every rank; else the same error on all: first_error(). Error also as
/// Team::exchange.
Status agree(Team& team, std::string_view step, const Status& mine);

/// The text that rank 0 gives, on all ranks. Error: as Team::exchange.
Result<std::string> from_rank_0(Team& team, std::string_view step, std::string mine);

/// An error as text and back, for what ranks tell each other.
std::string to_text(const Status& status);
Status status_from_text(std::string_view text);

}  // namespace assay

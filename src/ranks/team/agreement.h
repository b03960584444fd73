// Lets ranks agree on a result before they continue together.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "ranks/team/team.h"

namespace assay {

constexpr std::size_t most_message = 4000;  ///< bytes kept of an error message from another rank

/// Returns ok if all of `statuses`, one per rank, are ok. Otherwise returns the first error that is
/// not merely another rank's silence, or if there is none, the first error; the rank's name is
/// added, unless the message begins with one.
Status first_error(const Team& team, const std::vector<Status>& statuses);

/// Returns ok if `mine` is ok on every rank; otherwise first_error(), the same on all ranks. A rank
/// without others returns `mine`. If the exchange itself fails, a rank returns its own error if it
/// has one, else that of Team::decide().
Status agree(Team& team, std::string_view step, const Status& mine);

/// Exchanges `mine` between all ranks, or fails on all of them: if it is an error on any rank, all
/// return first_error(). If the exchange itself fails, a rank returns its own error if it has one,
/// else that of Team::exchange(). `step` names the activity in messages.
Result<std::vector<std::string>> exchange_or_fail(Team& team, std::string_view step,
                                                  const Result<std::string>& mine);

/// Returns rank 0's text on all ranks; those of the others are ignored. Error: as Team::exchange.
Result<std::string> from_rank_0(Team& team, std::string_view step, std::string mine);

/// Converts a status to text and back, to exchange it between ranks. The message comes back as one
/// line without control characters, cut to a bounded length, so it may be shown. An empty text is
/// ok; a text whose first character is no kind of error becomes an error of kind failed.
std::string to_text(const Status& status);
Status status_from_text(std::string_view text);

}  // namespace assay

#include "team/agreement.h"

#include <fmt/format.h>

#include <algorithm>

namespace assay {

std::string to_text(const Status& status) {
  if (status.ok()) return {};
  return static_cast<char>('0' + static_cast<int>(status.error().kind)) + status.error().message;
}

Status status_from_text(std::string_view text) {
  if (text.empty()) return {};
  const int kind = text[0] - '0';
  const bool known = kind >= 0 && kind <= static_cast<int>(ErrorKind::failed);
  return Error{known ? static_cast<ErrorKind>(kind) : ErrorKind::failed,
               std::string(text.substr(1))};
}

namespace {

/// Whether ranks have agreed on this error before.
bool is_named(const Team& team, const std::string& message) {
  return std::any_of(team.members().begin(), team.members().end(), [&](const TeamMember& member) {
    return message.starts_with(name_of(member) + ": ");
  });
}

}  // namespace

Status agree(Team& team, std::string_view step, const Status& mine) {
  if (team.size() == 1) return mine;
  const auto first_error = [&](const std::vector<std::string>& given) {
    for (std::size_t rank = 0; rank < given.size(); ++rank) {
      const Status status = status_from_text(given[rank]);
      if (status.ok()) continue;
      if (is_named(team, status.error().message)) return given[rank];
      return to_text(Error{status.error().kind, fmt::format("{}: {}", name_of(team.members()[rank]),
                                                            status.error().message)});
    }
    return std::string();
  };
  const auto decided = team.decide(step, to_text(mine), first_error);
  // What went wrong here says more than that the others did not come.
  if (!decided.ok()) return mine.ok() ? decided.error() : mine.error();
  return status_from_text(*decided);
}

Result<std::string> from_rank_0(Team& team, std::string_view step, std::string mine) {
  return team.decide(step, std::move(mine),
                     [](const std::vector<std::string>& given) { return given.front(); });
}

}  // namespace assay

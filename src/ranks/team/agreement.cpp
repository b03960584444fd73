#include "ranks/team/agreement.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/shown_text.h"

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
               shown_line(text.substr(1), most_message)};
}

namespace {

/// Returns whether ranks have already agreed on this error; it then begins with a rank's name.
bool is_named(const Team& team, const std::string& message) {
  return std::any_of(team.members().begin(), team.members().end(), [&](const TeamMember& member) {
    return message.starts_with(name_of(member) + ": ");
  });
}

}  // namespace

Status first_error(const Team& team, const std::vector<Status>& statuses) {
  std::size_t first = statuses.size();
  for (std::size_t rank = 0; rank < statuses.size(); ++rank) {
    if (statuses[rank].ok()) continue;
    const bool heard_cause = statuses[rank].error().kind != ErrorKind::silence;
    if (heard_cause || first == statuses.size()) first = rank;
    if (heard_cause) break;
  }
  if (first == statuses.size()) return {};
  const Error& error = statuses[first].error();
  if (is_named(team, error.message)) return error;
  return Error{error.kind, fmt::format("{}: {}", name_of(team.members()[first]), error.message)};
}

Status agree(Team& team, std::string_view step, const Status& mine) {
  if (team.size() == 1) return mine;
  const auto decided = team.decide(step, to_text(mine), [&](const std::vector<std::string>& given) {
    std::vector<Status> statuses;
    for (const std::string& text : given) statuses.push_back(status_from_text(text));
    return to_text(first_error(team, statuses));
  });
  // This rank's own error is more specific than the others' absence.
  if (!decided.ok()) return mine.ok() ? decided.error() : mine.error();
  return status_from_text(*decided);
}

Result<std::vector<std::string>> exchange_or_fail(Team& team, std::string_view step,
                                                  const Result<std::string>& mine) {
  // Each rank sends '+' followed by its data, or its error.
  auto exchanged = team.exchange(step, mine ? "+" + *mine : to_text(mine.error()));
  // This rank's own error is more specific than the others' absence.
  if (!exchanged) return mine ? exchanged.error() : mine.error();
  std::vector<Status> statuses;
  for (std::string& given : *exchanged) {
    const bool gave = given.starts_with('+');
    statuses.push_back(gave ? Status() : status_from_text(given));
    if (gave) given.erase(0, 1);
  }
  TRY(first_error(team, statuses));
  return exchanged;
}

Result<std::string> from_rank_0(Team& team, std::string_view step, std::string mine) {
  return team.decide(step, std::move(mine),
                     [](const std::vector<std::string>& given) { return given.front(); });
}

}  // namespace assay

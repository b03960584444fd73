#include "team/agree.h"

#include <fmt/format.h>

namespace assay {
namespace {

/// Empty if it is no error; else the kind as one letter, then the message.
std::string text_of(const Status& status) {
  if (status.ok()) return {};
  const auto kind = static_cast<int>(status.error().kind);
  return static_cast<char>('a' + kind) + status.error().message;
}

}  // namespace

Status agree(Team& team, std::string_view step, const Status& mine) {
  const std::vector<std::string> all = TRY(team.exchange(step, text_of(mine)));
  TRY(Status(mine));
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank].empty()) continue;
    const int kind = all[rank].front() - 'a';
    const bool known = kind >= 0 && kind <= static_cast<int>(ErrorKind::failed);
    return Error{known ? static_cast<ErrorKind>(kind) : ErrorKind::failed,
                 fmt::format("{}: {}", name_of(team.members()[rank]), all[rank].substr(1))};
  }
  return {};
}

}  // namespace assay

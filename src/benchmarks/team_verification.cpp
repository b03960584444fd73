#include "benchmarks/team_verification.h"

#include <fmt/format.h>

#include <charconv>

namespace assay {

Result<Verification> verification_of_all(Team& team, std::string method, std::uint64_t wrong,
                                         const std::string& detail) {
  const auto all = TRY(team.exchange("verification", fmt::format("{} {}", wrong, detail)));
  std::uint64_t total = 0;
  std::string first;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    const std::string& text = all[rank];
    std::uint64_t count = 0;
    const char* end = std::from_chars(text.data(), text.data() + text.size(), count).ptr;
    if (count > 0 && total == 0) {
      first = fmt::format("{}:{}", name_of(team.members()[rank]), end);
    }
    total += count;
  }
  return Verification{total == 0, std::move(method), static_cast<double>(total), 0, first};
}

}  // namespace assay

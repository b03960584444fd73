#include "core/suggest.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace assay {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  // Three rows of the table are kept, because a swap needs the row before last.
  std::vector<std::size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  std::iota(above.begin(), above.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, substituted});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[b.size()];
}

std::string did_you_mean(std::string_view word, std::span<const std::string> names) {
  const std::string* nearest = nullptr;
  // The limit is about one typo per three letters, at least one, but fewer than the word has
  // letters.
  std::size_t least = std::min(word.size(), std::max<std::size_t>(1, (word.size() + 1) / 3) + 1);
  for (const std::string& name : names) {
    const std::size_t distance = edit_distance(word, name);
    if (distance < least) {
      least = distance;
      nearest = &name;
    }
  }
  constexpr std::size_t enough_of_a_name = 3;
  for (const std::string& name : names) {
    if (nearest == nullptr && word.size() >= enough_of_a_name && name.starts_with(word)) {
      nearest = &name;
    }
  }
  return nearest == nullptr ? "" : fmt::format(" (did you mean \"{}\"?)", *nearest);
}

}  // namespace assay

#include "measure/benchmarks/decode/token_ids.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>

#include "core/read_file.h"
#include "core/shown_text.h"

namespace assay {

Result<std::vector<std::int32_t>> read_token_ids(const std::filesystem::path& path,
                                                 std::size_t most) {
  constexpr std::size_t longest_id = 16;  // bytes, including separators
  constexpr std::string_view between = " \t\r\n,[]";
  const std::string text = TRY(read_operand(path, most * longest_id));
  const auto wrong = [&](const std::string& what) {
    return Error{ErrorKind::usage, fmt::format("{}: {}", path.string(), what)};
  };
  std::vector<std::int32_t> ids;
  for (std::string_view rest = text;;) {
    rest.remove_prefix(std::min(rest.find_first_not_of(between), rest.size()));
    if (rest.empty()) break;
    const std::string_view word = rest.substr(0, rest.find_first_of(between));
    std::int32_t id = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), id);
    if (error != std::errc() || end != word.data() + word.size() || id < 0) {
      return wrong(fmt::format("\"{}\" is no token id, allowed: whole numbers from 0 on",
                               shown_line(word, 40)));
    }
    if (ids.size() == most) return wrong(fmt::format("has more than {} tokens", most));
    ids.push_back(id);
    rest.remove_prefix(word.size());
  }
  if (ids.empty()) return wrong("has no tokens");
  return ids;
}

}  // namespace assay

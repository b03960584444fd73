#include "model/transformer/lettered_numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "core/units.h"

namespace assay {

Result<std::map<char, std::int64_t>> parse_lettered_numbers(std::string_view text,
                                                            std::string_view letters) {
  constexpr std::uint64_t largest = 1 << 20;
  const auto wrong = [](std::string why) { return Error{ErrorKind::usage, std::move(why)}; };
  std::map<char, std::int64_t> numbers;
  if (text.empty()) return wrong("is not a model");
  while (!text.empty()) {
    const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    if (digits == 0 || digits == text.size()) return wrong("is not a model");
    const auto number = parse_integer(text.substr(0, digits));
    const char letter = static_cast<char>(std::toupper(static_cast<unsigned char>(text[digits])));
    text.remove_prefix(digits + 1);
    if (!number.ok() || *number < 1 || *number > largest) {
      return wrong(fmt::format("has a number out of range (1 to {})", largest));
    }
    if (letters.find(letter) == std::string_view::npos) {
      return wrong(fmt::format("has the unknown letter {}", letter));
    }
    if (!numbers.emplace(letter, static_cast<std::int64_t>(*number)).second) {
      return wrong(fmt::format("gives {} twice", letter));
    }
  }
  return numbers;
}

}  // namespace assay

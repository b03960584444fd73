#include "advise/occupancy/words.h"

#include <algorithm>

#include "core/text.h"

namespace assay::occupancy {
namespace {

constexpr std::string_view blanks = " \t\r";

}  // namespace

std::string_view next_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

std::string_view next_word(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
  const std::string_view word = text.substr(0, text.find_first_of(blanks));
  text.remove_prefix(word.size());
  return word;
}

std::optional<std::uint64_t> leading_number(std::string_view text) {
  constexpr std::uint64_t most = std::uint64_t{1} << 32;
  std::uint64_t number = 0;
  std::size_t digits = 0;
  for (; digits < text.size() && text[digits] >= '0' && text[digits] <= '9'; ++digits) {
    number = number * 10 + static_cast<unsigned>(text[digits] - '0');
    if (number > most) return std::nullopt;
  }
  if (digits == 0) return std::nullopt;
  return number;
}

std::optional<std::uint64_t> number_after(std::string_view text, std::string_view label) {
  const std::size_t at = text.find(label);
  if (at == std::string_view::npos) return std::nullopt;
  return leading_number(trim(text.substr(at + label.size())));
}

}  // namespace assay::occupancy

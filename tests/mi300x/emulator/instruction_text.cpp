#include "emulator/instruction_text.h"

#include <fmt/format.h>

#include <charconv>

#include "emulator/fault.h"

namespace mi300x {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") + 1 - first);
}

}  // namespace

void unknown_text(std::string_view what, std::string_view text) {
  throw Fault(FaultKind::unknown_instruction, fmt::format("unknown {} '{}'", what, text));
}

bool take_call(std::string_view& text, std::string_view name) {
  if (!text.starts_with(name) || text.size() < name.size() + 2 || text[name.size()] != '(' ||
      text.back() != ')') {
    return false;
  }
  text = text.substr(name.size() + 1, text.size() - name.size() - 2);
  return true;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  int depth = 0;
  std::size_t begin = 0;
  const auto end_piece = [&](std::size_t end) {
    const std::string_view piece = trimmed(text.substr(begin, end - begin));
    if (!piece.empty()) pieces.push_back(piece);
    begin = end + 1;
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '(' || c == '[') ++depth;
    if (c == ')' || c == ']') --depth;
    if (c == separator && depth == 0) end_piece(i);
  }
  if (begin < text.size()) end_piece(text.size());
  return pieces;
}

i64 parse_integer(std::string_view text) {
  std::string_view digits = text;
  const bool negative = digits.starts_with('-');
  if (negative) digits.remove_prefix(1);
  const bool hexadecimal = digits.starts_with("0x");
  if (hexadecimal) digits.remove_prefix(2);
  u64 value = 0;
  const char* end = digits.data() + digits.size();
  const auto [at, error] = std::from_chars(digits.data(), end, value, hexadecimal ? 16 : 10);
  if (error != std::errc() || at != end) unknown_text("number", text);
  return static_cast<i64>(negative ? 0 - value : value);
}

std::vector<i64> parse_list(std::string_view text) {
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') unknown_text("list", text);
  std::vector<i64> numbers;
  for (const std::string_view piece : split(text.substr(1, text.size() - 2), ',')) {
    numbers.push_back(parse_integer(piece));
  }
  return numbers;
}

}  // namespace mi300x

#include "system/fact_source.h"

#include <charconv>

#include "core/read_file.h"

namespace assay {
namespace {

std::string_view trim(std::string_view text) {
  constexpr std::string_view space = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(space);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(space) - begin + 1);
}

}  // namespace

std::optional<std::string> read_fact(const std::filesystem::path& root, std::string_view path) {
  const std::optional<std::string> text = read_file(root / path);
  const std::string_view trimmed = text ? trim(*text) : std::string_view();
  if (trimmed.empty()) return std::nullopt;
  return std::string(trimmed);
}

std::optional<long long> read_number(const std::filesystem::path& root, std::string_view path) {
  const auto text = read_fact(root, path);
  long long value = 0;
  if (!text) return std::nullopt;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc{} || end != text->data() + text->size()) return std::nullopt;
  return value;
}

std::optional<std::string> line_value(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (!line.starts_with(key)) continue;
    std::string_view rest = trim(line.substr(key.size()));
    if (rest.empty() || (rest.front() != ':' && rest.front() != '=')) continue;
    rest = trim(rest.substr(1));
    if (rest.size() >= 2 && rest.front() == '"' && rest.back() == '"') {
      rest = rest.substr(1, rest.size() - 2);
    }
    return std::string(rest);
  }
  return std::nullopt;
}

}  // namespace assay

#include "machine/system/fact_source.h"

#include <charconv>

#include "core/text.h"

namespace assay {

std::optional<std::string> read_fact(const Machine& machine, const std::filesystem::path& path) {
  const FileText file = machine.read(path);
  const std::string_view trimmed = trim(file.text);
  if (trimmed.empty()) return std::nullopt;
  return std::string(trimmed);
}

std::optional<long long> read_number(const Machine& machine, const std::filesystem::path& path) {
  const auto text = read_fact(machine, path);
  if (!text) return std::nullopt;
  const bool hexadecimal = text->starts_with("0x");
  const char* const begin = text->data() + (hexadecimal ? 2 : 0);
  const char* const end = text->data() + text->size();
  long long value = 0;
  const auto [stop, error] = std::from_chars(begin, end, value, hexadecimal ? 16 : 10);
  if (error != std::errc{} || stop != end) return std::nullopt;
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

#include "results/store/record_line.h"

#include <algorithm>

namespace assay {
namespace {

bool is_number_start(char c) {
  return c == '-' || (c >= '0' && c <= '9');
}

/// Whether comparisons need this member of a record; `name` includes its quotes.
bool is_needed(std::string_view name) {
  return name != "\"telemetry\"";
}

/// The position after the string that begins at `at`; the end of the text if it is unterminated.
std::size_t behind_string(std::string_view text, std::size_t at) {
  for (++at; at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text[at] == '"') {
      return at + 1;
    }
  }
  return text.size();
}

/// The position after the value that begins at `at`: its ',' or the closing bracket around it.
std::size_t behind_value(std::string_view text, std::size_t at) {
  std::size_t depth = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '"') {
      at = behind_string(text, at);
      continue;
    }
    if (c == '[' && at + 1 < text.size() && is_number_start(text[at + 1])) {
      at = std::min(text.find(']', at), text.size() - 1) + 1;  // numbers: most of a record
      continue;
    }
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') {
      if (depth == 0) return at;
      --depth;
    }
    if (c == ',' && depth == 0) return at;
    ++at;
  }
  return at;
}

}  // namespace

ShortLine shorten(std::string_view line, std::string_view known_device) {
  std::size_t at = line.find('{');
  if (at == std::string_view::npos) return {std::string(line), {}};
  ShortLine shorter{std::string(line.substr(0, at + 1)), {}};
  bool empty = true;
  do {
    const std::size_t key = at + 1;  // after '{' or ','
    if (key >= line.size() || line[key] != '"') break;
    const std::size_t colon = behind_string(line, key);
    const std::size_t end = behind_value(line, colon);
    const std::string_view name = line.substr(key, colon - key),
                           member = line.substr(key, end - key);
    if (name == "\"device\"") shorter.device = member;
    if (is_needed(name) && (known_device.empty() || member != known_device)) {
      if (!empty) shorter.text += ',';
      shorter.text += member;
      empty = false;
    }
    at = end;
  } while (at < line.size() && line[at] == ',');
  if (at < line.size()) shorter.text += line.substr(line[at] == '}' ? at : at + 1);
  return shorter;
}

}  // namespace assay

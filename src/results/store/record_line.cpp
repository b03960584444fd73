#include "results/store/record_line.h"

#include <algorithm>

namespace assay {
namespace {

bool is_number_start(char c) {
  return c == '-' || (c >= '0' && c <= '9');
}

/// Returns the position after the string that begins at `at`; the end of the text if it is
/// unterminated.
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

/// Returns the position after the value that begins at `at`: its ',' or the closing bracket around
/// it.
std::size_t behind_value(std::string_view text, std::size_t at) {
  std::size_t depth = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '"') {
      at = behind_string(text, at);
      continue;
    }
    if (c == '[' && at + 1 < text.size() && is_number_start(text[at + 1])) {
      // arrays of numbers are most of a record
      at = std::min(text.find(']', at), text.size() - 1) + 1;
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

/// Rewrites a JSON object: `changed(name, member)` returns what stands in place of a member; empty:
/// nothing does. Names include their quotes, members their names. Text that is no object is
/// unchanged or truncated.
template <typename Changed>
std::string rewritten(std::string_view object, Changed changed) {
  std::size_t at = object.find('{');
  if (at == std::string_view::npos) return std::string(object);
  std::string text(object.substr(0, at + 1));
  bool empty = true;
  do {
    const std::size_t key = object.find_first_not_of(" \t", at + 1);  // after '{' or ','
    if (key == std::string_view::npos || object[key] != '"') break;
    const std::size_t colon = behind_string(object, key);
    const std::size_t end = behind_value(object, colon);
    const std::string member =
        changed(object.substr(key, colon - key), object.substr(key, end - key));
    if (!member.empty()) {
      if (!empty) text += ',';
      text += member;
      empty = false;
    }
    at = end;
  } while (at < object.size() && object[at] == ',');
  // What is left begins with the bracket that is in `text` already, with a comma or with the end.
  const bool skips = at < object.size() && (object[at] == '{' || (object[at] == ',' && empty));
  return text += object.substr(std::min(object.size(), skips ? at + 1 : at));
}

/// Returns the member "telemetry" without its readings.
std::string without_readings(std::string_view telemetry) {
  return rewritten(telemetry, [](std::string_view name, std::string_view member) -> std::string {
    if (name == "\"seconds\"") return "\"seconds\":[]";
    if (name == "\"channels\"") return "\"channels\":{}";
    return std::string(member);
  });
}

}  // namespace

ShortLine shorten(std::string_view line, std::string_view known_device) {
  ShortLine shorter;
  shorter.text = rewritten(line, [&](std::string_view name, std::string_view member) {
    if (name == "\"device\"") shorter.device = member;
    const bool known = !known_device.empty() && member == known_device;
    if (known) return std::string();
    return name == "\"telemetry\"" ? without_readings(member) : std::string(member);
  });
  return shorter;
}

}  // namespace assay

#include "judge/report/escape.h"

#include <array>
#include <cstdint>

namespace assay::report {
namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";

struct Character {
  std::uint32_t code = 0;
  std::size_t length = 0;  ///< bytes; 0: invalid UTF-8
};

/// Returns the first character of `text`, which must not be empty. This is table 3-7 of the Unicode
/// Standard as arithmetic: overlong forms, surrogates and codes beyond U+10FFFF are invalid.
Character first_of(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80) return {byte(0), 1};
  const std::size_t length = byte(0) >= 0xF0 ? 4 : byte(0) >= 0xE0 ? 3 : 2;
  if (byte(0) < 0xC2 || byte(0) > 0xF4 || text.size() < length) return {};
  std::uint32_t code = byte(0) & (0xFFU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return {};
    code = (code << 6U) | (byte(i) & 0x3FU);
  }
  constexpr std::array<std::uint32_t, 5> least = {0, 0, 0x80, 0x800, 0x10000};
  if (code < least[length] || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return {};
  return {code, length};
}

bool is_unwanted(std::uint32_t code) {
  const bool control = code < 0x20 || (code >= 0x7F && code < 0xA0);
  const bool direction = code == 0x200E || code == 0x200F || (code >= 0x202A && code <= 0x202E) ||
                         (code >= 0x2066 && code <= 0x2069);
  const bool line = code == 0x2028 || code == 0x2029;
  return control || direction || line;
}

}  // namespace

std::string clean_text(std::string_view text) {
  std::string clean;
  clean.reserve(text.size());
  while (!text.empty()) {
    const Character character = first_of(text);
    if (character.length == 0) {
      clean += replacement;
      text.remove_prefix(1);
      continue;
    }
    if (is_unwanted(character.code)) {
      clean += ' ';
    } else {
      clean += text.substr(0, character.length);
    }
    text.remove_prefix(character.length);
  }
  return clean;
}

std::string escape_html(std::string_view text) {
  std::string escaped;
  for (const char c : clean_text(text)) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string escape_markdown(std::string_view text) {
  // Underscores inside words mean nothing in Markdown, and "all\_reduce" reads badly.
  constexpr std::string_view special = "\\`*[]<>|~";
  std::string escaped;
  for (const char c : clean_text(text)) {
    if (special.find(c) != std::string_view::npos) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string escape_csv(std::string_view text) {
  std::string field = clean_text(text);
  constexpr std::string_view formula = "=+-@";
  if (!field.empty() && formula.find(field.front()) != std::string_view::npos) {
    field.insert(field.begin(), '\'');
  }
  if (field.find_first_of(",\"") == std::string::npos) return field;
  std::string quoted = "\"";
  for (const char c : field) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

std::string escape_script(std::string_view json) {
  std::string escaped;
  escaped.reserve(json.size());
  for (std::size_t i = 0; i < json.size(); ++i) {
    const std::string_view rest = json.substr(i, 3);
    if (json[i] == '<') {
      escaped += "\\u003c";
    } else if (json[i] == '>') {
      escaped += "\\u003e";
    } else if (json[i] == '&') {
      escaped += "\\u0026";
    } else if (rest == "\xE2\x80\xA8" || rest == "\xE2\x80\xA9") {
      escaped += rest == "\xE2\x80\xA8" ? "\\u2028" : "\\u2029";
      i += 2;
    } else {
      escaped += json[i];
    }
  }
  return escaped;
}

}  // namespace assay::report

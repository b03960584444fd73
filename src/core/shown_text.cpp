#include "core/shown_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace assay {
namespace {

struct Character {
  char32_t code = 0;
  std::size_t bytes = 0;  ///< 0: not UTF-8
};

/// The character that begins with the byte text[0] >= 0x80 (RFC 3629).
Character decode(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  const std::size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 0;
  if (bytes == 0 || first > 0xf4 || text.size() < bytes) return {};
  char32_t code = first & (0xffU >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return {};
    code = (code << 6) | (byte(i) & 0x3fU);
  }
  const bool too_long = (bytes == 3 && code < 0x800) || (bytes == 4 && code < 0x10000);
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  if (too_long || surrogate || code > 0x10ffff) return {};
  return {code, bytes};
}

/// Characters beyond ASCII that control how others are shown: C1, marks and embeddings of
/// direction (Unicode, UAX #9), separators of lines.
bool is_control(char32_t code) {
  return code < 0xa0 || code == 0x61c || code == 0x200e || code == 0x200f ||
         (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

/// Whether `text` begins with a line end or a tab.
bool is_layout(std::string_view text) {
  return text.starts_with('\n') || text.starts_with('\t') || text.starts_with("\r\n");
}

std::string escaped(std::string_view text, bool keep_layout) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const auto first = static_cast<unsigned char>(text[0]);
    std::size_t length = 1;
    if (first >= 0x80) {
      const Character character = decode(text);
      length = std::max<std::size_t>(1, character.bytes);
      if (character.bytes == 0) {
        shown += "\xef\xbf\xbd";
      } else if (is_control(character.code)) {
        shown += fmt::format("\\u{:04x}", static_cast<unsigned>(character.code));
      } else {
        shown += text.substr(0, length);
      }
    } else if ((first >= ' ' && first != 0x7f) || (keep_layout && is_layout(text))) {
      shown += text[0];
    } else {
      shown += fmt::format("\\u{:04x}", first);
    }
    text.remove_prefix(length);
  }
  return shown;
}

}  // namespace

std::string without_controls(std::string_view text) {
  return escaped(text, true);
}

std::string shown_line(std::string_view text, std::size_t most) {
  constexpr std::string_view cut = "...";
  // Every byte becomes at least one, so the rest is not looked at.
  std::string shown = escaped(text.substr(0, most + 1), false);
  if (shown.size() <= most && text.size() <= most) return shown;
  std::size_t end = std::min(shown.size(), most - cut.size());
  while (end > 0 && (static_cast<unsigned char>(shown[end]) & 0xc0U) == 0x80) --end;
  return shown.substr(0, end).append(cut);
}

}  // namespace assay

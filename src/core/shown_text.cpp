#include "core/shown_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/utf8.h"

namespace assay {
namespace {

/// Returns true for characters beyond ASCII that control how others are shown: C1, marks and
/// embeddings of direction (Unicode, UAX #9), separators of lines.
bool is_control(char32_t code) {
  return code < 0xa0 || code == 0x61c || code == 0x200e || code == 0x200f ||
         (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

/// Returns whether `text` begins with a line end or a tab.
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
      const Utf8Character character = first_character(text);
      if (character.kind == Utf8Character::Kind::whole) length = character.bytes;
      if (character.kind != Utf8Character::Kind::whole) {
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
  // Every byte becomes at least one, so the rest need not be looked at.
  std::string shown = escaped(text.substr(0, most + 1), false);
  if (shown.size() <= most && text.size() <= most) return shown;
  std::size_t end = std::min(shown.size(), most - cut.size());
  while (end > 0 && (static_cast<unsigned char>(shown[end]) & 0xc0U) == 0x80) --end;
  return shown.substr(0, end).append(cut);
}

}  // namespace assay

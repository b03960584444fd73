#include "core/utf8.h"

#include <algorithm>

namespace assay {

Utf8Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return {Utf8Character::Kind::whole, first, 1};
  const std::size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4) return {};
  // The range of the second byte is narrower after some first bytes: no overlong forms, no
  // surrogates, no code points above U+10FFFF.
  const unsigned least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  const unsigned most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  char32_t code = first & (0xffU >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if (i == text.size()) return {Utf8Character::Kind::cut, 0, i};
    if (byte(i) < (i == 1 ? least : 0x80) || byte(i) > (i == 1 ? most : 0xbf)) {
      return {Utf8Character::Kind::invalid, 0, i};
    }
    code = (code << 6) | (byte(i) & 0x3fU);
  }
  return {Utf8Character::Kind::whole, code, bytes};
}

std::string valid_utf8(std::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  while (!text.empty()) {
    const Utf8Character character = first_character(text);
    if (character.kind == Utf8Character::Kind::whole) {
      valid += text.substr(0, character.bytes);
    } else {
      valid += "\xef\xbf\xbd";
    }
    text.remove_prefix(character.bytes);
  }
  return valid;
}

std::size_t cut_bytes(std::string_view text) {
  constexpr std::size_t longest = 3;  // bytes of the longest incomplete character
  for (std::size_t bytes = std::min(longest, text.size()); bytes > 0; --bytes) {
    const Utf8Character last = first_character(text.substr(text.size() - bytes));
    if (last.kind == Utf8Character::Kind::cut && last.bytes == bytes) return bytes;
  }
  return 0;
}

}  // namespace assay

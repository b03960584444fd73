// Characters in UTF-8 (RFC 3629).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace assay {

struct Utf8Character {
  enum class Kind {
    whole,
    cut,      ///< the text ends inside the character
    invalid,  ///< not UTF-8
  };
  Kind kind = Kind::invalid;
  char32_t code = 0;      ///< code point of a complete character
  std::size_t bytes = 1;  ///< bytes that belong together; for an invalid or cut one, as many as
                          ///< could begin a character
};

/// Returns the first character of `text`, which must not be empty.
Utf8Character first_character(std::string_view text);

/// Replaces each invalid or cut sequence by one U+FFFD, as Unicode advises ("maximal subparts") and
/// other programs do.
std::string valid_utf8(std::string_view text);

/// Returns how many bytes at the end of `text` are the beginning of a cut character.
std::size_t cut_bytes(std::string_view text);

}  // namespace assay

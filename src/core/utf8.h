// Characters in UTF-8 (RFC 3629).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace assay {

struct Utf8Character {
  enum class Kind {
    whole,
    cut,      ///< the text ends inside of it
    invalid,  ///< not UTF-8
  };
  Kind kind = Kind::invalid;
  char32_t code = 0;      ///< of a whole one
  std::size_t bytes = 1;  ///< that belong together; of what is invalid or cut, as many as could
                          ///< begin a character
};

/// The first character of `text`, which is not empty.
Utf8Character first_character(std::string_view text);

/// The text with one U+FFFD for what is invalid or cut, as Unicode advises ("maximal subparts") and
/// other programs do it.
std::string valid_utf8(std::string_view text);

/// How many bytes at the end of `text` are the beginning of a character that is cut there.
std::size_t cut_bytes(std::string_view text);

}  // namespace assay

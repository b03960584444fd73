// Quotes arguments for a remote shell: ssh joins its arguments, and a shell there splits them
// again. The reverse splits a command that the user wrote as one text.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace assay {

/// Puts any text in single quotes, which a POSIX shell reads as that text: 'it'\''s'.
std::string shell_quoted(std::string_view text);
/// Quotes any text as one argument for a POSIX shell: 'it'\''s'. A leading "~/" becomes "$HOME"/
/// before the quoted rest.
std::string shell_word(std::string_view word);
/// Quotes all arguments and separates them by blanks.
std::string shell_words(std::span<const std::string> words);
/// Splits `text` as a POSIX shell does with blanks, quotes and backslashes. Nothing is expanded;
/// other special characters are literal. Error: usage, for an unclosed quote.
Result<std::vector<std::string>> split_shell_words(std::string_view text);

}  // namespace assay

// Words for a shell on the far side: ssh joins what it is given and a shell there splits it again.
// And back: a command that the user wrote as one text, to words.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace assay {

/// One word for any POSIX shell, whatever it holds: 'it'\''s'. A leading "~/" becomes "$HOME"/, in
/// front of the quoted rest.
std::string shell_word(std::string_view word);
/// All of them, separated by blanks.
std::string shell_words(std::span<const std::string> words);
/// The words that a POSIX shell would make of `text` with blanks, quotes and backslashes; nothing
/// is expanded, and what else means something to shells means itself. Error: usage, for a quote
/// that is never closed.
Result<std::vector<std::string>> split_shell_words(std::string_view text);

}  // namespace assay

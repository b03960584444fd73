// Words for a shell on the far side: ssh joins what it is given and a shell there splits it again.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace assay {

/// One word for any POSIX shell, whatever it holds: 'it'\''s'. A leading "~/" becomes "$HOME"/, in
/// front of the quoted rest.
std::string shell_word(std::string_view word);
/// All of them, separated by blanks.
std::string shell_words(std::span<const std::string> words);

}  // namespace assay

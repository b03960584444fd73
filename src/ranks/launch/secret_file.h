// A secret that ranks share through a file, for launchers that do not distribute one.
#pragma once

#include <string>
#include <string_view>

#include "core/result.h"

namespace assay {

constexpr std::size_t least_secret = 16;  ///< bytes; shorter secrets could be guessed

/// Returns `secret`. Error: usage, naming `source`, if it is shorter than least_secret.
Result<std::string> check_secret(std::string secret, std::string_view source);

/// Returns the file's text, without white space around it. Error: usage, naming the file, if it
/// cannot be read, is not a regular file of this process's user, gives other users any access, or
/// holds less than least_secret or more than 4096 bytes.
Result<std::string> read_secret_file(const std::string& path);

}  // namespace assay

// A secret that ranks share through a file, where no launcher hands one to them.
#pragma once

#include <string>
#include <string_view>

#include "core/result.h"

namespace assay {

constexpr std::size_t least_secret = 16;  ///< bytes: fewer could be guessed

/// `secret` itself. Error: usage, naming `source`, if it is shorter than least_secret.
Result<std::string> check_secret(std::string secret, std::string_view source);

/// The text of the file, without white space around it. Error: usage, naming the file, if it cannot
/// be read, is not a regular file of this process's user, gives others any right to it, or holds
/// less than least_secret or more than 4096 bytes.
Result<std::string> read_secret_file(const std::string& path);

}  // namespace assay

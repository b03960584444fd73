// SHA-256: names cache entries, detects damaged files, distinguishes sources and environments.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace assay {

/// 64 lower-case hexadecimal digits.
std::string sha256_hex(std::string_view bytes);

/// One hash of several parts; each is preceded by its length, so {"ab", "c"} and {"a", "bc"}
/// differ.
std::string hash_of_parts(std::span<const std::string> parts);

}  // namespace assay

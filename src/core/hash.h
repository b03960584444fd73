// SHA-256: names cache entries, detects damaged files, distinguishes sources and environments; with
// a key it proves that one knows the key.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace assay {

/// 64 lower-case hexadecimal digits.
std::string sha256_hex(std::string_view bytes);

/// HMAC-SHA256 of `bytes` (RFC 2104): 64 lower-case hexadecimal digits. Who does not know `key` can
/// neither compute it nor learn the key from it.
std::string hmac_sha256_hex(std::string_view key, std::string_view bytes);

/// One hash of several parts; each is preceded by its length, so {"ab", "c"} and {"a", "bc"}
/// differ.
std::string hash_of_parts(std::span<const std::string> parts);

}  // namespace assay

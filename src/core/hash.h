// SHA-256: names cache entries, detects damaged files, and distinguishes sources and environments.
// With a key (HMAC) it proves knowledge of the key.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace assay {

/// Returns the SHA-256 of `bytes`: 64 lower-case hexadecimal digits.
std::string sha256_hex(std::string_view bytes);

/// Returns the HMAC-SHA256 of `bytes` (RFC 2104): 64 lower-case hexadecimal digits. Nobody
/// can compute it without `key`, and it does not reveal `key`.
std::string hmac_sha256_hex(std::string_view key, std::string_view bytes);

/// Returns the sha256_hex() of all parts together. Each part is preceded by its length, so {"ab",
/// "c"} and {"a", "bc"} differ.
std::string hash_of_parts(std::span<const std::string> parts);

}  // namespace assay

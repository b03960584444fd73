// Numbers as other programs write them, read strictly: the whole text must be a number.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace assay {

/// Accepts "10887.4", "4e-07", "-1": the whole text, finite. Else nullopt.
std::optional<double> parse_number(std::string_view text);
/// Accepts "1073741824": the whole text, only digits. Else nullopt.
std::optional<std::uint64_t> parse_count(std::string_view text);

/// "64 MB", "1KB", "512M" in bytes; tools use these letters for powers of two. Nullopt if invalid.
std::optional<std::uint64_t> parse_binary_size(std::string_view text);

}  // namespace assay

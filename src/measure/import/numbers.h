// Numbers as other programs write them, read strictly: what is not wholly a number is
// none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace assay {

/// "10887.4", "4e-07", "-1": all of the text, finite. Else empty.
std::optional<double> parse_number(std::string_view text);
/// "1073741824": all of the text, digits only. Else empty.
std::optional<std::uint64_t> parse_count(std::string_view text);

/// "64 MB", "1KB", "512M" to bytes, as tools write powers of two with letters. Empty if it is none.
std::optional<std::uint64_t> parse_binary_size(std::string_view text);

}  // namespace assay

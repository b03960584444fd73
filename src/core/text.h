// White space and numbers in other programs' text.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace assay {

/// `text` without white space at both ends.
std::string_view trim(std::string_view text);

/// Accepts "10887.4", "4e-07", "-1": the whole text, finite. Else nullopt.
std::optional<double> parse_number(std::string_view text);
/// Accepts "1073741824": the whole text, only digits. Else nullopt.
std::optional<std::uint64_t> parse_count(std::string_view text);

}  // namespace assay

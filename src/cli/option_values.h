// Parsers of option values that several commands share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace assay::cli {

/// The parts between separators, which may be empty.
std::vector<std::string> split(const std::string& text, char separator);
/// Error: usage, naming the option and what is allowed.
Result<std::int64_t> whole_number(std::string_view option, const std::string& text,
                                  std::uint64_t least, std::uint64_t most);
/// The number of pairs of runs in a proof. It must be even, so that each side comes first equally
/// often. Error: usage.
Result<std::size_t> proof_pairs(const std::string& text);

}  // namespace assay::cli

// Values of options that several commands read alike.
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
/// Pairs of runs in a proof. Error: usage, also for odd numbers: each side comes first equally
/// often.
Result<std::size_t> proof_pairs(const std::string& text);

}  // namespace assay::cli

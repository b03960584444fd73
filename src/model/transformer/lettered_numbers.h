// Numbers, each followed by its letter, as shapes of models are written: "6L6H384C".
#pragma once

#include <cstdint>
#include <map>
#include <string_view>

#include "core/result.h"

namespace assay {

/// By upper-case letter; the text may have either case, and any order. Numbers are 1 to 2^20: far
/// above any model, and so small that all sizes in bytes fit 64 bits. Error: usage, a reason to
/// follow the text ("gives L twice").
Result<std::map<char, std::int64_t>> parse_lettered_numbers(std::string_view text,
                                                            std::string_view letters);

}  // namespace assay

// Token ids as text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "core/result.h"

namespace assay {

/// Reads token ids from a file: whole numbers separated by spaces, line ends or commas; brackets as
/// in a JSON list are allowed. Error: as read_operand() (core/read_file.h); usage, naming the file
/// and the text that is not an id, or if there are none or more than `most`.
Result<std::vector<std::int32_t>> read_token_ids(const std::filesystem::path& path,
                                                 std::size_t most);

}  // namespace assay

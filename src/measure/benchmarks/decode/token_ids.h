// Token ids as text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "core/result.h"

namespace assay {

/// The ids in a file: whole numbers with spaces, line ends or commas between them; brackets around
/// them, as in a list of JSON, are allowed. Error: usage, naming the file and what is none, or if
/// there are fewer than one or more than `most`.
Result<std::vector<std::int32_t>> read_token_ids(const std::filesystem::path& path,
                                                 std::size_t most);

}  // namespace assay

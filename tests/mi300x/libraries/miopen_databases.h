// The user databases of the MIOpen of this folder: files of lines KEY=ID:VALUES;ID:VALUES. One has
// the times of solvers for a problem (find-db), one their parameters (perf-db). Names and keys
// follow MIOpen's src/find_db.cpp, src/include/miopen/execution_context.hpp and
// src/conv/problem_description.cpp and .hpp.
#pragma once

#include <map>
#include <string>

#include "libraries/convolution.h"

namespace mock_miopen {

enum class DatabaseKind { find, performance };

/// Values, keyed by solver.
using DatabaseRecord = std::map<std::string, std::string>;

/// Returns the databases' folder: MIOPEN_USER_DB_PATH, or ~/.config/miopen.
std::string user_database_folder();
/// Returns "8-6-6-3x3-8-6-6-1-1x1-1x1-1x1-0-NHWC-NHWC-NHWC-BF16-F" or
/// "2x8x6x6x1x3x3x1x8x1x1x1x0x1x1x0x1x1x0x0x1xNHWCxBF16xF".
std::string database_key(DatabaseKind kind, const mi300x::Convolution& convolution);
/// Returns an empty record if there is none.
DatabaseRecord load_record(const std::string& folder, DatabaseKind kind, const std::string& key);
/// Replaces the record. A file that cannot be written is ignored, as in MIOpen.
void store_record(const std::string& folder, DatabaseKind kind, const std::string& key,
                  const DatabaseRecord& record);

}  // namespace mock_miopen

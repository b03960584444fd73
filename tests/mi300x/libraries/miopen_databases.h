// The user databases of the MIOpen of this folder: files of lines KEY=ID:VALUES;ID:VALUES, one with
// the times of solvers for a problem (find-db), one with their parameters (perf-db). Names and keys
// as MIOpen's src/find_db.cpp, src/include/miopen/execution_context.hpp and
// src/conv/problem_description.cpp make them.
#pragma once

#include <map>
#include <string>

#include "libraries/convolution.h"

namespace mock_miopen {

enum class DatabaseKind { find, performance };

/// Values by solver.
using DatabaseRecord = std::map<std::string, std::string>;

/// Where they lie: MIOPEN_USER_DB_PATH, or ~/.config/miopen.
std::string user_database_folder();
/// "8-6-6-3x3-8-6-6-1-1x1-1x1-1x1-0-NHWC-NHWC-NHWC-BF16-F"
std::string database_key(DatabaseKind kind, const mi300x::Convolution& convolution);
/// Empty if there is none.
DatabaseRecord load_record(const std::string& folder, DatabaseKind kind, const std::string& key);
/// Replaces the record. A file that cannot be written is passed over, as MIOpen does.
void store_record(const std::string& folder, DatabaseKind kind, const std::string& key,
                  const DatabaseRecord& record);

}  // namespace mock_miopen

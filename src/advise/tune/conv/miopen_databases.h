// MIOpen's user databases as files: which there are, what they hold, what a tuning changed in them.
// A folder has a find-db (*.ufdb.txt: how long each solver takes for a convolution) and a perf-db
// (*.udb.txt: the parameters of solvers; *.udb, SQLite, in older releases) for each architecture,
// number of compute units and release of MIOpen, which are in their names. Sources: MIOpen's
// src/find_db.cpp, src/include/miopen/execution_context.hpp, src/db_record.cpp.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compute/vendor/convolution/convolution_problem.h"
#include "core/result.h"

namespace assay {

/// Records by key: "ID:VALUES;ID:VALUES". A database that is no text has one record without a key,
/// a hash of its bytes.
using DatabaseRecords = std::map<std::string, std::string>;
/// By the files' names.
using MiopenDatabases = std::map<std::string, DatabaseRecords>;

/// Whether the database with this file name is one of text, whose records can be restored.
bool is_text_database(std::string_view name);
/// Of a folder; of one that does not exist, none. Error: usage, naming the file that cannot be
/// read.
Result<MiopenDatabases> read_miopen_databases(const std::filesystem::path& folder);
/// Copies the files into another folder, which is made. Error: exhausted.
Status copy_miopen_databases(const std::filesystem::path& from, const std::filesystem::path& to);

/// A record that is new or differs.
struct DatabaseChange {
  std::string file, key;
  bool added = false;  ///< else it was another one
  std::string record;  ///< as it is now
};
std::vector<DatabaseChange> database_changes(const MiopenDatabases& before,
                                             const MiopenDatabases& after);

/// The keys of a convolution, in a find-db, as conv::ProblemDescription::Serialize() makes it
/// (src/conv/problem_description.cpp): "64-56-56-3x3-64-56-56-32-1x1-1x1-1x1-0-NCHW-BF16-F"; and in
/// a perf-db of text, as its VisitAll() does:
/// "2x64x56x56x1x3x3x1x64x32x1x1x0x1x1x0x1x1x0x0x1xNCHWxBF16xF".
std::string find_database_key(const ConvolutionProblem& problem);
std::string performance_database_key(const ConvolutionProblem& problem);
/// Makes the records with these keys, in all text databases of a folder, which no program may be
/// using, what they were in `origin`: those that it lacks go, those that the folder lacks come
/// back. All other lines stay as they are. Returns how many records differed. Error: usage,
/// exhausted.
Result<std::size_t> restore_records(const std::filesystem::path& folder,
                                    const MiopenDatabases& origin,
                                    std::span<const std::string> keys);

/// "ConvHipImplicitGemmGroupFwdXdlops 0.012 ms" of a record of a find-db: its fastest solver. Of
/// others, its solvers.
std::string summary_of(const DatabaseChange& change);

}  // namespace assay

// MIOpen's user databases as files: which exist, what they contain, and what a tuning changed in
// them. A folder has a find-db (*.ufdb.txt: how long each solver takes for a convolution) and a
// perf-db (*.udb.txt: the parameters of solvers; *.udb, SQLite, in older releases) for each
// architecture, number of compute units and release of MIOpen, which are in their names. Sources:
// MIOpen's src/find_db.cpp, src/include/miopen/execution_context.hpp, src/db_record.cpp.
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

/// Records by key: "ID:VALUES;ID:VALUES". A database that is not a text file is represented by one
/// record without a key: a hash of its bytes.
using DatabaseRecords = std::map<std::string, std::string>;
/// The databases of a folder, by file name.
using MiopenDatabases = std::map<std::string, DatabaseRecords>;

/// Returns whether the file name is that of a text database, whose records can be restored.
bool is_text_database(std::string_view name);
/// Reads the databases of a folder; none if it does not exist. Error: usage, naming the file that
/// cannot be read.
Result<MiopenDatabases> read_miopen_databases(const std::filesystem::path& folder);
/// Copies the database files into another folder, which is created. Error: exhausted.
Status copy_miopen_databases(const std::filesystem::path& from, const std::filesystem::path& to);

/// A record that is new or differs.
struct DatabaseChange {
  std::string file, key;
  bool added = false;  ///< false: a record of this key had another value
  std::string record;  ///< the new record
};
std::vector<DatabaseChange> database_changes(const MiopenDatabases& before,
                                             const MiopenDatabases& after);

/// The keys of a convolution. The first is that of a find-db, as made by
/// conv::ProblemDescription::Serialize() (src/conv/problem_description.cpp):
/// "64-56-56-3x3-64-56-56-32-1x1-1x1-1x1-0-NCHW-BF16-F". The second is that of a text perf-db, as
/// made by VisitAll() of the same class:
/// "2x64x56x56x1x3x3x1x64x32x1x1x0x1x1x0x1x1x0x0x1xNCHWxBF16xF".
std::string find_database_key(const ConvolutionProblem& problem);
std::string performance_database_key(const ConvolutionProblem& problem);
/// Restores the records with these keys, in all text databases of a folder, to their state in
/// `origin`: new records are removed and removed ones come back. All other lines stay as they are.
/// No program may be using the folder. Returns how many records differed. Error: usage, exhausted.
Result<std::size_t> restore_records(const std::filesystem::path& folder,
                                    const MiopenDatabases& origin,
                                    std::span<const std::string> keys);

/// Summary of a changed record. For a find-db it is the fastest solver,
/// "ConvHipImplicitGemmGroupFwdXdlops 0.012 ms"; for other databases the names of its solvers.
std::string summary_of(const DatabaseChange& change);

}  // namespace assay

// MIOpen's user databases as files: which exist, what they contain, and what a tuning changed in
// them. There are two kinds. A find-db (*.ufdb.txt) has the time that each solver takes for a
// convolution. A perf-db (*.udb.txt; *.udb, SQLite, in older releases) has the parameters of
// solvers. A folder has one of each per architecture, number of compute units and release of
// MIOpen, and the file names contain these. Sources: MIOpen's src/find_db.cpp,
// src/include/miopen/execution_context.hpp, src/db_record.cpp.
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

/// Maps the key of a convolution to its record "SOLVER:VALUES;SOLVER:VALUES". In a find-db, VALUES
/// begins with the time in milliseconds. A database that is not a text file is represented by one
/// record with an empty key: the SHA-256 of its bytes.
using DatabaseRecords = std::map<std::string, std::string>;
/// The databases of a folder, by file name.
using MiopenDatabases = std::map<std::string, DatabaseRecords>;

/// Returns whether the file name is that of a text database, whose records can be restored.
bool is_text_database(std::string_view name);
/// Reads the databases of a folder; returns none if the folder does not exist. Error: as
/// list_folder() (core/input_file.h) and read_operand() (core/read_file.h).
Result<MiopenDatabases> read_miopen_databases(const std::filesystem::path& folder);
/// Copies the database files into another folder, which is created. Error: as create_folder(),
/// list_folder(), read_operand() and write_file() (core/write_file.h).
Status copy_miopen_databases(const std::filesystem::path& from, const std::filesystem::path& to);

/// A record that is new, or has another value than before. A removed record is not a change.
struct DatabaseChange {
  std::string file, key;  ///< `key` is empty if the file is not a text database
  bool added = false;     ///< false: a record of this key had another value
  std::string record;     ///< the new record
};
std::vector<DatabaseChange> database_changes(const MiopenDatabases& before,
                                             const MiopenDatabases& after);

/// Return the keys of a convolution. The first is that of a find-db, as made by
/// conv::ProblemDescription::Serialize() (src/conv/problem_description.cpp):
/// "64-56-56-3x3-64-56-56-32-1x1-1x1-1x1-0-NCHW-BF16-F". The second is that of a text perf-db, as
/// made by VisitAll() of the same class:
/// "2x64x56x56x1x3x3x1x64x32x1x1x0x1x1x0x1x1x0x0x1xNCHWxBF16xF".
std::string find_database_key(const ConvolutionProblem& problem);
std::string performance_database_key(const ConvolutionProblem& problem);
/// Restores the records with these keys, in all text databases of a folder and of `origin`, to
/// their state in `origin`: new records are removed and removed ones come back. All other lines
/// stay as they are. No program may be using the folder. Returns how many records differed. Error:
/// as list_folder(), read_operand() and write_file().
Result<std::size_t> restore_records(const std::filesystem::path& folder,
                                    const MiopenDatabases& origin,
                                    std::span<const std::string> keys);

/// Summarizes a changed record. For a find-db this is the fastest solver and its time,
/// "ConvHipImplicitGemmGroupFwdXdlops 0.012 ms"; for a text perf-db, or without a time, the names
/// of its solvers. It is empty for a database that is not a text file.
std::string summary_of(const DatabaseChange& change);

}  // namespace assay

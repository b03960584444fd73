// Opens a trace that is an SQLite database, plain or compressed.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/database.h"
#include "results/timeline/timeline.h"
#include "results/traces/trace_stream.h"

namespace assay {

class SqliteTrace {
 public:
  /// `stream` must have been started (TraceStream::start()) and is not needed afterwards. A
  /// plain file is read from disk; everything else is held in memory, decompressed, up to 2 GiB.
  /// Error: as Database::open() and open_bytes() (core/database.h) and TraceStream::read_all();
  /// usage, if it is larger, is no database or has generated columns, with which a file could make
  /// queries endless.
  static Result<SqliteTrace> open(TraceStream& stream);

  /// Names of the tables, without views.
  const std::vector<std::string>& tables() const { return tables_; }
  /// `table` is compared exactly, although names in SQL ignore case.
  bool has(std::string_view table) const;

  /// Calls `use(row)` for each row of the query until `use` returns false. If the query fails, for
  /// example because this version of the file lacks a column, `timeline` gets a note that names
  /// `what`. All queries share a number of operations that grows with the file's size; once it is
  /// spent, further queries of a million operations or more fail.
  template <typename Use>
  void rows(const std::string& sql, std::string_view what, Timeline& timeline, const Use& use) {
    auto statement = database_->prepare(sql);
    while (statement.ok()) {
      const auto more = statement->step();
      if (more.ok() && *more && use(*statement)) continue;
      if (more.ok()) return;
      break;
    }
    timeline.note(std::string(what) +
                  " could not be read to the end: " + database_->failure().message);
  }

 private:
  std::unique_ptr<std::string> bytes_;  // of a database in memory
  std::optional<Database> database_;
  std::vector<std::string> tables_;
};

/// Returns a time in the current row; empty if it is not within `longest_time` of 0. NULL is 0.
std::optional<std::int64_t> time_at(const Statement& row, int column);
/// Returns a correlation in the current row; no_number if it is negative or NULL.
std::uint64_t number_at(const Statement& row, int column);
/// Returns a count in the current row; 0 if it does not fit or is NULL.
std::uint32_t small_at(const Statement& row, int column);

/// Returns the name of a table or a column, quoted for SQL.
std::string sql_name(std::string_view name);

/// The first bytes of every database.
constexpr std::string_view sqlite_mark = "SQLite format 3";

}  // namespace assay

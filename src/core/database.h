// An SQLite file: safe opening, statements, transactions. Errors are one line that names the file;
// no SQLite type leaves it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "core/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace assay {

class Database;

/// A prepared statement. Parameters are numbered from 1, columns from 0; text is copied. It must
/// not outlive its Database.
class Statement {
 public:
  Statement& bind(int parameter, std::string_view text);
  Statement& bind(int parameter, double number);
  Statement& bind(int parameter, std::int64_t number);

  /// Advances to the next row; returns whether there is one. Error: that of the file.
  Result<bool> step();
  /// Runs the statement to its end; it can be bound again afterwards.
  Status run();
  void reset();

  /// Returns values of the current row. SQLite converts whatever the column holds, so these never
  /// fail.
  std::string text(int column) const;
  double number(int column) const;
  std::int64_t integer(int column) const;

 private:
  friend class Database;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  Statement(const Database& database, sqlite3_stmt* statement)
      : database_(&database), statement_(statement) {}

  const Database* database_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

class Database {
 public:
  /// How a file is used. A reader of assay's own file may repair it; others' files are only looked
  /// at.
  enum class Access { read, write, look };

  /// With Access::write, creates the file and its folder if necessary. Waits up to 30 s for other
  /// processes' locks. The file's schema is not trusted. Error: usage, if a file to be
  /// read does not exist; file, if it cannot be opened; exhausted, if another process keeps it
  /// locked. SQLite opens files that are no database; the first statement then fails with usage.
  static Result<Database> open(const std::filesystem::path& path, Access access);
  /// Opens a database that is in memory, such as a decompressed one, to look at it. `bytes` must
  /// outlive it; `path` is for messages. Error: exhausted.
  static Result<Database> open_bytes(std::string& bytes, const std::filesystem::path& path);

  /// Lets statements fail once they have taken this many of SQLite's operations in all. A file may
  /// be made so that a join of its tables does not end.
  void limit_operations(std::uint64_t most);

  Result<Statement> prepare(std::string_view sql) const;
  /// Runs statements without results.
  Status execute(const char* sql) const;
  /// Returns the integer result of a pragma or a count.
  Result<std::int64_t> integer(std::string_view sql) const;

  /// Returns the last failure: SQLite's message with the file's name.
  Error failure() const;
  const std::filesystem::path& path() const { return path_; }

 private:
  struct Close {
    void operator()(sqlite3* handle) const;
  };
  Database(std::filesystem::path path, sqlite3* handle, Access access)
      : path_(std::move(path)), handle_(handle), access_(access) {}
  void distrust_schema() const;
  static int count_down(void* turns);

  std::filesystem::path path_;
  std::unique_ptr<std::uint64_t> turns_;  // of limit_operations(), which are left
  std::unique_ptr<sqlite3, Close> handle_;
  Access access_;
};

/// All reads inside a transaction see the same state. A writing one takes the write lock at once,
/// so that nobody changes what was read. It is rolled back unless commit() was called, also if the
/// process dies.
class Transaction {
 public:
  static Result<Transaction> begin(const Database& database, Database::Access access);
  Transaction(Transaction&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();
  Status commit();

 private:
  explicit Transaction(const Database& database) : database_(&database) {}
  const Database* database_;
};

}  // namespace assay

// An SQLite file: safe opening, statements, transactions. No type of SQLite's interface is exposed.
// Functions without an "Error:" of their own fail as Database::failure().
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

/// A prepared statement. Parameters are numbered from 1, columns from 0; text is copied. Bind
/// before the first step() or after reset(): in between, SQLite ignores it. Its Database must
/// neither be moved nor destroyed before it.
class Statement {
 public:
  Statement& bind(int parameter, std::string_view text);
  Statement& bind(int parameter, double number);
  Statement& bind(int parameter, std::int64_t number);

  /// Advances to the next row; returns whether there is one.
  Result<bool> step();
  /// Runs the statement to its end, ignoring its rows, and resets it, also if it fails.
  Status run();
  /// Makes the statement start again at the next step(), with the values bound before or new ones.
  void reset();

  /// Return values of the current row. SQLite converts whatever the column holds, so these never
  /// fail: a text gives the number with which it begins, or 0; NULL gives 0 or an empty text.
  std::string text(int column) const;
  double number(int column) const;
  std::int64_t integer(int column) const;
  /// Ask before the other functions: their conversions change the answer.
  bool is_null(int column) const;

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
  /// How a file is used.
  enum class Access {
    read,   ///< assay's own file: what a killed writer left unfinished is rolled back, if it may be
            ///< written
    write,  ///< assay's own file, which is created if necessary
    look,   ///< another program's file: opened read-only, values of at most 64 MiB
  };

  /// With Access::write, creates the file and its folder if necessary. Statements will wait up to
  /// 30 s for other processes' locks. Triggers in the file do not run, and a statement that reads a
  /// view fails with usage. Error: as failure(), and as create_folder() (write_file.h). SQLite
  /// opens files that are no database; the first statement then fails with usage. `advice` says in
  /// such errors what to do with a file that is damaged or has other tables; empty: nothing.
  static Result<Database> open(const std::filesystem::path& path, Access access,
                               std::string_view advice = "");
  /// Opens a database that is in memory, such as a decompressed one, to look at it. `bytes` must
  /// outlive it and is not changed; `path` is for messages.
  static Result<Database> open_bytes(std::string& bytes, const std::filesystem::path& path);

  /// Limits the work of all statements together, from now on, because a file may be made so that a
  /// join of its tables does not end. `most` is in operations of SQLite's virtual machine. Each
  /// statement counts in whole millions, and fails with usage where the sum exceeds `most`.
  void limit_operations(std::uint64_t most);

  Result<Statement> prepare(std::string_view sql) const;
  /// Runs statements, separated by ';', whose results are not needed.
  Status execute(const char* sql) const;
  /// Returns the first column of the first row, as of a pragma or a count; 0 without a row.
  Result<std::int64_t> integer(std::string_view sql) const;

  /// Returns the last failure: one line with the file's name and SQLite's message. usage: the file
  /// does not exist, is damaged or has other tables, or limit_operations() was exceeded. file: it
  /// may not be opened, read or written. exhausted: another process keeps it locked, the disk or
  /// memory is full, and all other causes.
  Error failure() const;
  const std::filesystem::path& path() const { return path_; }

 private:
  struct Close {
    void operator()(sqlite3* handle) const;
  };
  Database(std::filesystem::path path, sqlite3* handle, Access access, std::string_view advice)
      : path_(std::move(path)), handle_(handle), access_(access), advice_(advice) {}
  void distrust_schema() const;
  static int count_down(void* turns);

  std::filesystem::path path_;
  std::unique_ptr<std::uint64_t> turns_;  // of limit_operations(), which are left
  std::unique_ptr<sqlite3, Close> handle_;
  Access access_;
  std::string advice_;
};

/// All reads inside a transaction see the same state. A writing one takes the write lock at once,
/// so that nobody changes what was read. It is rolled back unless commit() succeeded, also if the
/// process dies. Its Database must neither be moved nor destroyed before it.
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

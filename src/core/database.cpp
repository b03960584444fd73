#include "core/database.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <cerrno>
#include <cstring>

#include "core/write_file.h"

namespace assay {

namespace fs = std::filesystem;

void Statement::Finalize::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

Statement& Statement::bind(int parameter, std::string_view text) {
  sqlite3_bind_text64(statement_.get(), parameter, text.data(), text.size(), SQLITE_TRANSIENT,
                      SQLITE_UTF8);
  return *this;
}

Statement& Statement::bind(int parameter, double number) {
  sqlite3_bind_double(statement_.get(), parameter, number);
  return *this;
}

Statement& Statement::bind(int parameter, std::int64_t number) {
  sqlite3_bind_int64(statement_.get(), parameter, number);
  return *this;
}

Result<bool> Statement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return database_->failure();
}

Status Statement::run() {
  Result<bool> more = step();
  while (more.ok() && *more) more = step();
  reset();
  if (!more.ok()) return more.error();
  return {};
}

void Statement::reset() {
  sqlite3_reset(statement_.get());
}

std::string Statement::text(int column) const {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  const int count = sqlite3_column_bytes(statement_.get(), column);
  return bytes == nullptr ? std::string() : std::string(bytes, static_cast<std::size_t>(count));
}

double Statement::number(int column) const {
  return sqlite3_column_double(statement_.get(), column);
}

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

bool Statement::is_null(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

void Database::Close::operator()(sqlite3* handle) const {
  sqlite3_close_v2(handle);
}

Result<Database> Database::open(const fs::path& path, Access access, std::string_view advice) {
  if (access == Access::write && path.has_parent_path()) TRY(create_folder(path.parent_path()));
  // Even readers open it for writing: they roll back what a killed writer left unfinished. Without
  // write permission SQLite opens the file read-only.
  const int flags = access == Access::look ? SQLITE_OPEN_READONLY
                                           : SQLITE_OPEN_READWRITE |
                                                 (access == Access::write ? SQLITE_OPEN_CREATE : 0);
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &handle, flags, nullptr);
  Database database(path, handle, access, advice);
  if (code != SQLITE_OK) return database.failure();
  constexpr int patience_ms = 30'000;
  sqlite3_busy_timeout(handle, patience_ms);
  database.distrust_schema();
  return database;
}

Result<Database> Database::open_bytes(std::string& bytes, const fs::path& path) {
  sqlite3* handle = nullptr;
  int code = sqlite3_open_v2(":memory:", &handle, SQLITE_OPEN_READWRITE, nullptr);
  Database database(path, handle, Access::look, "");
  if (code == SQLITE_OK) {
    const auto size = static_cast<sqlite3_int64>(bytes.size());
    code = sqlite3_deserialize(handle, "main", reinterpret_cast<unsigned char*>(bytes.data()), size,
                               size, SQLITE_DESERIALIZE_READONLY);
  }
  if (code != SQLITE_OK) return database.failure();
  database.distrust_schema();
  return database;
}

void Database::distrust_schema() const {
  sqlite3* const handle = handle_.get();
  // Views and triggers in the file are not trusted: they must neither call functions nor change
  // pages.
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  // A text of another program's file is not made longer than this.
  constexpr int longest_text = 64 << 20;
  if (access_ != Access::look) return;
  sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, longest_text);
  // Damage of a page is found when the page is read. Otherwise what SQLite makes of it may depend
  // on what its memory held before.
  sqlite3_exec(handle, "PRAGMA cell_size_check = ON", nullptr, nullptr, nullptr);
}

int Database::count_down(void* turns) {
  auto* const left = static_cast<std::uint64_t*>(turns);
  if (*left == 0) return 1;
  --*left;
  return 0;
}

void Database::limit_operations(std::uint64_t most) {
  constexpr int of_a_turn = 1'000'000;
  turns_ = std::make_unique<std::uint64_t>(most / of_a_turn);
  sqlite3_progress_handler(handle_.get(), of_a_turn, &Database::count_down, turns_.get());
}

Result<Statement> Database::prepare(std::string_view sql) const {
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v2(handle_.get(), sql.data(), static_cast<int>(sql.size()),
                                      &statement, nullptr);
  if (code != SQLITE_OK) return failure();
  return Statement(*this, statement);
}

Status Database::execute(const char* sql) const {
  if (sqlite3_exec(handle_.get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK) return failure();
  return {};
}

Result<std::int64_t> Database::integer(std::string_view sql) const {
  Statement statement = TRY(prepare(sql));
  return TRY(statement.step()) ? statement.integer(0) : 0;
}

Error Database::failure() const {
  const int code = handle_ == nullptr ? SQLITE_NOMEM : sqlite3_errcode(handle_.get()) & 0xff;
  const char* words = handle_ == nullptr ? "out of memory" : sqlite3_errmsg(handle_.get());
  switch (code) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_ERROR:  // a table or column is missing
    case SQLITE_SCHEMA:
      return {ErrorKind::usage,
              fmt::format("{} is damaged or has other tables ({}){}{}", path_.string(), words,
                          advice_.empty() ? "" : "; ", advice_)};
    case SQLITE_INTERRUPT:
      return {ErrorKind::usage,
              fmt::format("{} takes more work than a sound file of its size", path_.string())};
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {ErrorKind::exhausted,
              fmt::format("{} stayed locked by another process", path_.string())};
    case SQLITE_CANTOPEN:
      // A file that may not be created is looked for once more, so its last error is another one.
      if (access_ != Access::write && sqlite3_system_errno(handle_.get()) == ENOENT) {
        return {ErrorKind::usage, fmt::format("{} cannot be read or written: {}", path_.string(),
                                              std::strerror(ENOENT))};
      }
      [[fallthrough]];
    case SQLITE_IOERR:
    case SQLITE_PERM:
    case SQLITE_READONLY:
      return {ErrorKind::file,
              fmt::format("{} cannot be read or written: {}", path_.string(), words)};
    case SQLITE_FULL:
    case SQLITE_NOMEM:
    default:
      return {ErrorKind::exhausted,
              fmt::format("{} cannot be read or written: {}", path_.string(), words)};
  }
}

Result<Transaction> Transaction::begin(const Database& database, Database::Access access) {
  TRY(database.execute(access == Database::Access::write ? "BEGIN IMMEDIATE" : "BEGIN"));
  return Transaction(database);
}

Transaction::~Transaction() {
  // If the failure has already rolled it back, this command fails, which does no harm.
  if (database_ != nullptr) (void)database_->execute("ROLLBACK");
}

Status Transaction::commit() {
  TRY(database_->execute("COMMIT"));
  database_ = nullptr;
  return {};
}

}  // namespace assay

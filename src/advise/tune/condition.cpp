#include "advise/tune/condition.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <optional>

#include "core/text.h"

namespace assay {
namespace {

// Limit on steps of SQLite's virtual machine. An expression takes dozens; the limit stops one that
// would take forever.
constexpr int most_steps = 100'000;

/// Authorizes expressions with functions, but nothing that reads or writes tables or recurses.
int authorize(void*, int action, const char*, const char*, const char*, const char*) {
  return action == SQLITE_SELECT || action == SQLITE_FUNCTION || action == SQLITE_READ
             ? SQLITE_OK
             : SQLITE_DENY;
}

int give_up(void*) {
  return 1;
}

/// The query: SELECT (text) FROM (SELECT ?1 AS "name", ...)
std::string query_of(std::string_view text, const std::vector<std::string>& names) {
  std::string columns;
  for (std::size_t i = 0; i < names.size(); ++i) {
    columns += fmt::format("{}?{} AS \"{}\"", i == 0 ? "" : ", ", i + 1, names[i]);
  }
  return fmt::format("SELECT ({}\n) FROM (SELECT {})", text, columns);
}

}  // namespace

void Condition::Close::operator()(sqlite3* handle) const {
  sqlite3_close_v2(handle);
}

void Condition::Finalize::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

Error Condition::failure() const {
  return {ErrorKind::usage,
          fmt::format("condition \"{}\": {}; it must be an expression over the parameters, e.g. a "
                      "* b <= 1024 AND c <> 'x'",
                      text_, database_ ? sqlite3_errmsg(database_.get()) : "out of memory")};
}

Result<Condition> Condition::compile(std::string_view text, const std::vector<std::string>& names) {
  Condition condition;
  condition.text_ = text;
  sqlite3* handle = nullptr;
  const int opened = sqlite3_open_v2(":memory:", &handle, SQLITE_OPEN_READWRITE, nullptr);
  condition.database_.reset(handle);
  if (opened != SQLITE_OK) return condition.failure();
  // Without this, SQLite would silently take an unknown name in double quotes for a string.
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DQS_DML, 0, nullptr);
  sqlite3_set_authorizer(handle, authorize, nullptr);
  sqlite3_progress_handler(handle, most_steps, give_up, nullptr);
  const std::string query = query_of(text, names);
  sqlite3_stmt* statement = nullptr;
  const char* rest = nullptr;
  const int prepared =
      sqlite3_prepare_v2(handle, query.data(), static_cast<int>(query.size()), &statement, &rest);
  condition.statement_.reset(statement);
  if (prepared != SQLITE_OK) return condition.failure();
  if (sqlite3_column_count(statement) != 1 || rest != query.data() + query.size() ||
      sqlite3_bind_parameter_count(statement) != static_cast<int>(names.size())) {
    return Error{ErrorKind::usage,
                 fmt::format("condition \"{}\" is not one expression over the parameters", text)};
  }
  return condition;
}

Result<bool> Condition::holds(const std::vector<std::string_view>& values) const {
  sqlite3_stmt* const statement = statement_.get();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const int parameter = static_cast<int>(i + 1);
    const std::optional<double> number = parse_number(values[i]);
    if (values[i].empty()) {
      sqlite3_bind_null(statement, parameter);
    } else if (number) {
      sqlite3_bind_double(statement, parameter, *number);
    } else {
      sqlite3_bind_text64(statement, parameter, values[i].data(), values[i].size(),
                          SQLITE_TRANSIENT, SQLITE_UTF8);
    }
  }
  const bool is_row = sqlite3_step(statement) == SQLITE_ROW;
  const bool holds = is_row && sqlite3_column_int64(statement, 0) != 0;
  const std::optional<Error> error = is_row ? std::nullopt : std::optional(failure());
  sqlite3_reset(statement);
  // The limit is one of a single evaluation, and SQLite counts on from the one before.
  sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_VM_STEP, 1);
  if (error) return *error;
  return holds;
}

}  // namespace assay

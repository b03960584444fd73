#include "results/traces/sqlite_trace.h"

#include <fmt/format.h>

#include <algorithm>

namespace assay {

Result<SqliteTrace> SqliteTrace::open(TraceStream& stream) {
  constexpr std::size_t most_in_memory = std::size_t{2} << 30;
  SqliteTrace trace;
  std::uint64_t bytes = stream.size();
  if (stream.is_file()) {
    trace.database_ = TRY(Database::open(stream.name(), Database::Access::look));
  } else {
    trace.bytes_ = std::make_unique<std::string>(TRY(stream.read_all(most_in_memory)));
    bytes = trace.bytes_->size();
    trace.database_ = TRY(Database::open_bytes(*trace.bytes_, stream.name()));
  }
  // A sound file has rows of 20 bytes and more, each of which takes less than a thousand
  // operations.
  constexpr std::uint64_t least = 2'000'000, of_a_byte = 100;
  trace.database_->limit_operations(least + of_a_byte * bytes);
  // The values of computed columns are whatever expressions in the file make of them.
  const std::int64_t computed =
      TRY(trace.database_->integer("SELECT count(*) FROM sqlite_master M, "
                                   "pragma_table_xinfo(M.name) C WHERE M.type = 'table' AND "
                                   "C.hidden <> 0"));
  if (computed > 0) {
    return Error{
        ErrorKind::usage,
        fmt::format("{} has columns that it computes, which no profiler writes; export the "
                    "trace again",
                    stream.name())};
  }
  Statement names =
      TRY(trace.database_->prepare("SELECT name FROM sqlite_master WHERE type = 'table'"));
  while (TRY(names.step())) trace.tables_.push_back(names.text(0));
  return trace;
}

bool SqliteTrace::has(std::string_view table) const {
  return std::find(tables_.begin(), tables_.end(), table) != tables_.end();
}

std::optional<std::int64_t> time_at(const Statement& row, int column) {
  const std::int64_t time = row.integer(column);
  if (time > longest_time || time < -longest_time) return std::nullopt;
  return time;
}

std::uint64_t number_at(const Statement& row, int column) {
  if (row.is_null(column)) return no_number;
  const std::int64_t number = row.integer(column);
  return number < 0 ? no_number : static_cast<std::uint64_t>(number);
}

std::uint32_t small_at(const Statement& row, int column) {
  const std::int64_t number = row.integer(column);
  return number < 0 || number > UINT32_MAX ? 0 : static_cast<std::uint32_t>(number);
}

std::string sql_name(std::string_view name) {
  std::string text = "\"";
  for (const char letter : name) {
    text += letter;
    if (letter == '"') text += letter;
  }
  return text + '"';
}

}  // namespace assay

#include "tune/conv/miopen_databases.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/hash.h"
#include "core/read_file.h"
#include "core/units.h"
#include "core/write_file.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_database_bytes = std::size_t{512} << 20;
constexpr std::string_view find_suffix = ".ufdb.txt", text_suffix = ".udb.txt",
                           sqlite_suffix = ".udb";

bool is_text_database(std::string_view name) {
  return name.ends_with(find_suffix) || name.ends_with(text_suffix);
}

/// The databases of a folder, sorted by name.
std::vector<fs::path> database_files(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (is_text_database(name) || name.ends_with(sqlite_suffix)) files.push_back(at->path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// Lines without a key are passed over, as MIOpen does.
DatabaseRecords records_of(std::string_view text) {
  DatabaseRecords records;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos || equals == 0) continue;
    records.emplace(line.substr(0, equals), line.substr(equals + 1));
  }
  return records;
}

/// Calls `use(id, values)` for each item of a record.
template <typename Use>
void for_each_item(std::string_view record, const Use& use) {
  while (!record.empty()) {
    const std::size_t end = std::min(record.find(';'), record.size());
    const std::string_view item = record.substr(0, end);
    record.remove_prefix(std::min(end + 1, record.size()));
    const std::size_t colon = item.find(':');
    if (colon != std::string_view::npos) use(item.substr(0, colon), item.substr(colon + 1));
  }
}

}  // namespace

Result<MiopenDatabases> read_miopen_databases(const fs::path& folder) {
  MiopenDatabases databases;
  for (const fs::path& file : database_files(folder)) {
    const std::string name = file.filename().string();
    const std::string text = TRY(read_operand(file, most_database_bytes));
    databases[name] =
        is_text_database(name) ? records_of(text) : DatabaseRecords{{"", sha256_hex(text)}};
  }
  return databases;
}

Status copy_miopen_databases(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::create_directories(to, error);
  if (error) {
    return Error{ErrorKind::exhausted,
                 fmt::format("cannot create the folder {}: {}", to.string(), error.message())};
  }
  for (const fs::path& file : database_files(from)) {
    const std::string bytes = TRY(read_operand(file, most_database_bytes));
    TRY(write_file(to / file.filename(), bytes));
  }
  return {};
}

std::vector<DatabaseChange> database_changes(const MiopenDatabases& before,
                                             const MiopenDatabases& after) {
  static const DatabaseRecords none;
  std::vector<DatabaseChange> changes;
  for (const auto& [file, records] : after) {
    const auto old_file = before.find(file);
    const DatabaseRecords& old_records = old_file == before.end() ? none : old_file->second;
    for (const auto& [key, record] : records) {
      const auto old = old_records.find(key);
      const bool added = old == old_records.end();
      if (added || old->second != record) changes.push_back({file, key, added, record});
    }
  }
  return changes;
}

std::string find_database_key(const ConvolutionProblem& p) {
  const bool forward = p.direction == ConvolutionDirection::forward;
  // What MIOpen calls the input is the gradient of y in both backward passes.
  const std::vector<std::int64_t> in = forward ? p.x_shape() : p.y_shape();
  const std::vector<std::int64_t> out = forward ? p.y_shape() : p.x_shape();
  const auto extents = [&](const auto& all, std::ptrdiff_t first, const char* separator) {
    return fmt::format(
        "{}", fmt::join(all.begin() + first, all.begin() + first + p.dimensions, separator));
  };
  std::string layout = p.dimensions == 3 ? "NCDHW" : "NCHW";
  if (p.channels_last) {
    layout = p.dimensions == 3 ? "NDHWC" : "NHWC";
    layout = fmt::format("{0}-{0}-{0}", layout);
  }
  const std::string_view type = p.type == DataType::f16    ? "FP16"
                                : p.type == DataType::bf16 ? "BF16"
                                                           : "FP32";
  const char letter = forward ? 'F' : p.direction == ConvolutionDirection::data ? 'B' : 'W';
  std::string key = fmt::format("{}-{}-{}-{}-{}-{}-{}-{}-{}-0-{}-{}-{}", in[1], extents(in, 2, "-"),
                                extents(p.filter, 0, "x"), out[1], extents(out, 2, "-"), p.n,
                                extents(p.pad, 0, "x"), extents(p.stride, 0, "x"),
                                extents(p.dilation, 0, "x"), layout, type, letter);
  if (p.groups != 1) key += fmt::format("_g{}", p.groups);
  return key;
}

Result<std::size_t> remove_found(const fs::path& folder, std::span<const std::string> keys) {
  std::size_t removed = 0;
  for (const fs::path& file : database_files(folder)) {
    if (!file.filename().string().ends_with(find_suffix)) continue;
    const std::string text = TRY(read_operand(file, most_database_bytes));
    std::string kept;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
      const std::string_view line = std::string_view(text).substr(at, end - at);
      const std::string_view key = line.substr(0, line.find('='));
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
        kept += line;
      } else {
        ++removed;
      }
      at = end;
    }
    if (kept.size() != text.size()) TRY(write_file(file, kept));
  }
  return removed;
}

std::string summary_of(const DatabaseChange& change) {
  if (!is_text_database(change.file)) return {};
  std::string solvers;
  std::optional<std::pair<double, std::string_view>> fastest;
  for_each_item(change.record, [&](std::string_view solver, std::string_view values) {
    solvers += fmt::format("{}{}", solvers.empty() ? "" : ", ", solver);
    const auto time = parse_number(values.substr(0, values.find(',')));
    if (time && (!fastest || *time < fastest->first)) fastest = {*time, solver};
  });
  if (!change.file.ends_with(find_suffix) || !fastest) return solvers;
  return fmt::format("{} {:.4g} ms", fastest->second, fastest->first);
}

}  // namespace assay

#include "advise/tune/conv/miopen_databases.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/hash.h"
#include "core/input_file.h"
#include "core/read_file.h"
#include "core/text.h"
#include "core/write_file.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_database_bytes = std::size_t{512} << 20;
constexpr std::string_view find_suffix = ".ufdb.txt", text_suffix = ".udb.txt",
                           sqlite_suffix = ".udb";

/// The databases of a folder, sorted by name; none if it does not exist.
Result<std::vector<fs::path>> database_files(const fs::path& folder) {
  std::vector<fs::path> files;
  if (std::error_code missing; !fs::exists(folder, missing) && !missing) return files;
  for (fs::path& file : TRY(list_folder(folder))) {
    const std::string name = file.filename().string();
    if (is_text_database(name) || name.ends_with(sqlite_suffix)) files.push_back(std::move(file));
  }
  return files;
}

/// Calls `use(line, key, record)` for each line. Lines without a key, which MIOpen ignores, are
/// passed with an empty key.
template <typename Use>
void for_each_line(std::string_view text, const Use& use) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) {
      use(line, std::string_view(), std::string_view());
    } else {
      use(line, line.substr(0, equals), line.substr(equals + 1));
    }
  }
}

DatabaseRecords records_of(std::string_view text) {
  DatabaseRecords records;
  for_each_line(text, [&](std::string_view, std::string_view key, std::string_view record) {
    if (!key.empty()) records.emplace(key, record);
  });
  return records;
}

/// The text of a database after records were restored.
struct Restored {
  std::string text;
  std::size_t records = 0;  ///< number of records that differed
};

/// Returns `text` with the records of `keys` as in `old` and all other lines unchanged.
Restored with_records(std::string_view text, const DatabaseRecords& old,
                      const std::set<std::string_view>& keys) {
  Restored made;
  std::set<std::string_view> seen;
  for_each_line(text, [&](std::string_view line, std::string_view key, std::string_view record) {
    if (key.empty() || !keys.contains(key)) {
      made.text += fmt::format("{}\n", line);
      return;
    }
    const bool again = !seen.insert(key).second;  // MIOpen uses only the first record of a key
    const auto was = old.find(std::string(key));
    if (was == old.end() || again || was->second != record) ++made.records;
    if (was != old.end() && !again) made.text += fmt::format("{}={}\n", key, was->second);
  });
  for (const std::string_view key : keys) {
    const auto was = old.find(std::string(key));
    if (was == old.end() || seen.contains(key)) continue;
    ++made.records;
    made.text += fmt::format("{}={}\n", key, was->second);
  }
  return made;
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

/// A convolution in MIOpen's terms.
struct MiopenView {
  explicit MiopenView(const ConvolutionProblem& p)
      // In both backward passes MIOpen calls the gradient of y the input.
      : in(p.direction == ConvolutionDirection::forward ? p.x_shape() : p.y_shape()),
        out(p.direction == ConvolutionDirection::forward ? p.y_shape() : p.x_shape()),
        layout(p.channels_last ? (p.dimensions == 3 ? "NDHWC" : "NHWC")
                               : (p.dimensions == 3 ? "NCDHW" : "NCHW")),
        type(p.type == DataType::f16    ? "FP16"
             : p.type == DataType::bf16 ? "BF16"
                                        : "FP32"),
        direction(p.direction == ConvolutionDirection::forward ? 'F'
                  : p.direction == ConvolutionDirection::data  ? 'B'
                                                               : 'W') {}

  std::vector<std::int64_t> in, out;
  std::string_view layout, type;
  char direction;
};

}  // namespace

bool is_text_database(std::string_view name) {
  return name.ends_with(find_suffix) || name.ends_with(text_suffix);
}

Result<MiopenDatabases> read_miopen_databases(const fs::path& folder) {
  MiopenDatabases databases;
  for (const fs::path& file : TRY(database_files(folder))) {
    const std::string name = file.filename().string();
    const std::string text = TRY(read_operand(file, most_database_bytes));
    databases[name] =
        is_text_database(name) ? records_of(text) : DatabaseRecords{{"", sha256_hex(text)}};
  }
  return databases;
}

Status copy_miopen_databases(const fs::path& from, const fs::path& to) {
  TRY(create_folder(to));
  for (const fs::path& file : TRY(database_files(from))) {
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
  const MiopenView view(p);
  const auto extents = [&](const auto& all, std::ptrdiff_t first, const char* separator) {
    const auto begin = all.begin() + first;
    return fmt::format("{}", fmt::join(begin, begin + p.dimensions, separator));
  };
  const std::string layout =
      p.channels_last ? fmt::format("{0}-{0}-{0}", view.layout) : std::string(view.layout);
  std::string key =
      fmt::format("{}-{}-{}-{}-{}-{}-{}-{}-{}-0-{}-{}-{}", view.in[1], extents(view.in, 2, "-"),
                  extents(p.filter, 0, "x"), view.out[1], extents(view.out, 2, "-"), p.n,
                  extents(p.pad, 0, "x"), extents(p.stride, 0, "x"), extents(p.dilation, 0, "x"),
                  layout, view.type, view.direction);
  if (p.groups != 1) key += fmt::format("_g{}", p.groups);
  return key;
}

std::string performance_database_key(const ConvolutionProblem& p) {
  const MiopenView view(p);
  // Height, width and depth; a two-dimensional convolution has `flat` as its depth.
  const auto extents = [&](const auto& all, std::ptrdiff_t first, std::int64_t flat) {
    const auto begin = all.begin() + first;
    return p.dimensions == 3 ? fmt::format("{}x{}x{}", begin[1], begin[2], begin[0])
                             : fmt::format("{}x{}x{}", begin[0], begin[1], flat);
  };
  return fmt::format("{}x{}x{}x{}x{}x{}x{}x{}x{}x0x{}x{}x{}x{}", p.dimensions, view.in[1],
                     extents(view.in, 2, 1), extents(p.filter, 0, 1), view.out[1], p.n,
                     extents(p.pad, 0, 0), extents(p.stride, 0, 0), extents(p.dilation, 0, 0),
                     p.groups, view.layout, view.type, view.direction);
}

Result<std::size_t> restore_records(const fs::path& folder, const MiopenDatabases& origin,
                                    std::span<const std::string> keys) {
  static const DatabaseRecords none;
  const std::set<std::string_view> named(keys.begin(), keys.end());
  std::set<std::string> files;
  for (const fs::path& file : TRY(database_files(folder))) files.insert(file.filename().string());
  for (const auto& [file, records] : origin) files.insert(file);
  std::size_t restored = 0;
  for (const std::string& file : files) {
    if (!is_text_database(file)) continue;
    const auto old_file = origin.find(file);
    std::string text;
    if (std::error_code error; fs::exists(folder / file, error)) {
      text = TRY(read_operand(folder / file, most_database_bytes));
    }
    const Restored made =
        with_records(text, old_file == origin.end() ? none : old_file->second, named);
    if (made.records == 0) continue;
    restored += made.records;
    TRY(write_file(folder / file, made.text));
  }
  return restored;
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

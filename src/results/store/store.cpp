#include "results/store/store.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <map>

#include "core/hash.h"
#include "core/input_file.h"
#include "core/json.h"
#include "core/json_text.h"
#include "core/write_file.h"
#include "results/store/record_json.h"
#include "results/store/record_line.h"

namespace assay {
namespace {

constexpr const char* records_name = "records.jsonl";
constexpr const char* fingerprints_name = "fingerprints.jsonl";
constexpr std::size_t longest_record = std::size_t{64} << 20;
// The most members of an object: each is compared with all before it.
constexpr std::size_t most_members = 2000;
constexpr std::size_t longest_line = std::size_t{1} << 30;

/// Reads one line after another.
class RecordParser {
 public:
  explicit RecordParser(Detail detail) : detail_(detail) {}

  Result<Record> read(std::string_view line) {
    if (detail_ == Detail::whole) return parse(line, nullptr);
    const ShortLine shorter = shorten(line, device_text_);
    const bool known = !device_text_.empty() && shorter.device == device_text_;
    Result<Record> record = parse(shorter.text, known ? &device_ : nullptr);
    if (record.ok() && !known) {
      device_text_ = shorter.device;
      device_ = record->device;
    }
    return record;
  }

 private:
  static Result<Record> parse(std::string_view text, const DeviceFacts* device) {
    if (text.size() > longest_record) return Error{ErrorKind::usage, "longer than 64 MiB"};
    const bool is_long = text.size() > std::size_t{1} << 20;
    if (is_long && text.find("\"schema\"") == std::string_view::npos) {  // such as a baseline
      return Error{ErrorKind::usage, "field schema is missing"};
    }
    return record_from_json(TRY(parse_json(text, most_members)), device);
  }

  Detail detail_;
  std::string device_text_;  // text of the last record with a new device
  DeviceFacts device_;
};

/// Appends the lines of many records piece by piece: those of all may not fit in memory.
class RecordLines {
 public:
  explicit RecordLines(const LineFile::Appender& append) : append_(append) {}

  Status add(const Record& record) {
    constexpr std::size_t piece_bytes = std::size_t{1} << 20;
    if (text_.size() >= piece_bytes) TRY(flush());
    if (!text_.empty()) text_ += '\n';
    text_ += json_line(to_json(record));
    return {};
  }

  Status flush() {
    if (text_.empty()) return {};
    const Status status = append_(text_);
    text_.clear();
    return status;
  }

 private:
  const LineFile::Appender& append_;
  std::string text_;
};

/// What a store holds of the runs of some batches.
class KnownRuns {
 public:
  explicit KnownRuns(const std::vector<std::vector<Record>>& batches) {
    for (const std::vector<Record>& batch : batches) {
      for (const Record& record : batch) runs_.emplace(record.run, 0);
    }
  }

  /// Adds the records of a store that were not there at the last call.
  Status update(const std::filesystem::path& file) {
    InputLines lines = TRY(InputLines::open(file, longest_line));
    RecordParser parser(Detail::summary);
    std::size_t count = 0;
    uLong checksum = 0;
    bool same = lines_ == 0;
    while (const std::optional<InputLine> line = TRY(lines.next())) {
      if (!line->ended) break;
      const auto* const bytes = reinterpret_cast<const Bytef*>(line->text.data());
      checksum = crc32_z(checksum, bytes, line->text.size());
      if (++count == lines_) same = checksum == checksum_;
      if (count <= lines_) continue;
      if (!same) break;
      const auto record = parser.read(line->text);
      if (record.ok()) add(*record);
    }
    if (same) {
      lines_ = count;
      checksum_ = checksum;
      return {};
    }
    // The lines of the last call were replaced: its writer had no room for the rest, for instance.
    for (auto& [run, number] : runs_) number = 0;
    records_.clear();
    lines_ = 0;
    checksum_ = 0;
    return update(file);
  }

  void add(const Record& record) {
    const auto run = runs_.find(record.run);
    if (run == runs_.end()) return;
    ++run->second;
    ++records_[key_of(record)];
  }

  /// The records of the batch that are not known.
  std::vector<const Record*> without(const std::vector<Record>& batch) const {
    std::map<std::string_view, std::size_t> run_sizes;
    for (const Record& record : batch) ++run_sizes[record.run];
    std::map<std::string, std::size_t> seen;  // some have the same key: repetitions in one line
    std::vector<const Record*> fresh;
    for (const Record& record : batch) {
      const bool whole = record.source && record.source->line > 0;  // its id is of all its records
      if (whole && runs_.find(record.run)->second >= run_sizes[record.run]) continue;
      const std::string key = key_of(record);
      const auto known = records_.find(key);
      if (known == records_.end() || ++seen[key] > known->second) fresh.push_back(&record);
    }
    return fresh;
  }

 private:
  static std::string key_of(const Record& record) {
    return fmt::format("{}\n{}\n{}\n{}", record.run, record.cell.id(), record.time,
                       record.source ? record.source->line : 0);
  }

  std::map<std::string, std::size_t, std::less<>> runs_;
  std::map<std::string, std::size_t> records_;
  std::size_t lines_ = 0;  // that update() has read, and their checksum
  uLong checksum_ = 0;
};

}  // namespace

std::string fingerprint_id(const Json& fingerprint) {
  const auto sorted = try_parse_sorted_json(json_line(fingerprint));  // std::map: keys in order
  return sha256_hex(sorted.dump()).substr(0, 16);
}

Result<Store> Store::open(const std::filesystem::path& folder) {
  TRY(create_folder(folder));
  return Store(folder, TRY(LineFile::open(folder / records_name)));
}

Status Store::append(const Record& record) {
  return records_.append(json_line(to_json(record)));
}

Status Store::append(std::span<const Record> records) {
  return records_.append_chosen([&](const LineFile::Appender& append_lines) -> Status {
    RecordLines lines(append_lines);
    for (const Record& record : records) TRY(lines.add(record));
    return lines.flush();
  });
}

Result<std::size_t> Store::append_new(const std::vector<std::vector<Record>>& batches) {
  std::size_t added = 0;
  KnownRuns known(batches);
  TRY(known.update(folder_ / records_name));  // the most of it without keeping others from writing
  TRY(records_.append_chosen([&](const LineFile::Appender& append_lines) -> Status {
    TRY(known.update(folder_ / records_name));
    RecordLines lines(append_lines);
    for (const std::vector<Record>& batch : batches) {
      const std::vector<const Record*> fresh = known.without(batch);
      for (const Record* record : fresh) {
        TRY(lines.add(*record));
        known.add(*record);
      }
      added += fresh.size();
    }
    return lines.flush();
  }));
  return added;
}

Result<std::string> Store::append_fingerprint(const Json& fingerprint) {
  const std::string id = fingerprint_id(fingerprint);
  LineFile file = TRY(LineFile::open(folder_ / fingerprints_name));
  const std::string prefix = fmt::format("{{\"id\":\"{}\",", id);
  Json line;
  line["id"] = id;
  line["fingerprint"] = fingerprint;
  TRY(file.append_unless([&](std::string_view text) { return text.starts_with(prefix); },
                         json_line(line)));
  return id;
}

Result<StoredRecords> read_records(const std::filesystem::path& path, Detail detail) {
  std::error_code error;
  const bool folder = std::filesystem::is_directory(path, error);
  const std::filesystem::path file = folder ? path / records_name : path;
  InputLines lines = TRY(InputLines::open(file, longest_line));
  StoredRecords stored;
  const auto problem = [&](std::size_t line, std::string_view what) {
    stored.problems.push_back(fmt::format("{}:{}: {}", file.filename().string(), line, what));
  };
  RecordParser reader(detail);
  RecordParser whole(Detail::whole);
  std::vector<std::pair<std::size_t, std::string>> last_run;  // places and lines of its records
  while (const std::optional<InputLine> line = TRY(lines.next())) {
    if (!line->ended) {  // its writer died while writing it, or is still writing
      problem(line->number, "torn last line, ignored");
      break;
    }
    if (line->text.empty()) continue;
    auto record = reader.read(line->text);
    if (record.ok()) {
      if (detail == Detail::last_readings && record->telemetry) {
        const bool same =
            !last_run.empty() && stored.records[last_run.back().first].run == record->run;
        if (!same) last_run.clear();
        last_run.emplace_back(stored.records.size(), line->text);
      }
      stored.records.push_back(std::move(record).value());
    } else {
      problem(line->number, record.error().message + ", ignored");
    }
  }
  for (const auto& [place, text] : last_run) {
    auto record = whole.read(text);
    if (record.ok()) stored.records[place] = std::move(record).value();
  }
  return stored;
}

}  // namespace assay

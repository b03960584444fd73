// Append-only results in a folder: records.jsonl, one record per line, and fingerprints.jsonl. Safe
// against a kill at any moment: a line is written with one write() under a file lock and synced;
// the next writer removes a torn last line, and readers ignore it.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/result.h"
#include "results/record/record.h"
#include "results/store/line_file.h"

namespace assay {

class Store {
 public:
  /// Creates the folder if necessary and checks that it is writable. Error: usage (not a folder),
  /// file (no permission) or exhausted (disk full), naming the path.
  static Result<Store> open(const std::filesystem::path& folder);

  /// Stores a record, which is durable when the call returns. Error: as LineFile::append(); earlier
  /// records stay intact.
  Status append(const Record& record);
  /// Stores all records, or none if it returns an error; they are durable when the call returns.
  Status append(std::span<const Record> records);
  /// Appends the records that the store does not have yet, as if each batch came alone and in this
  /// order; returns how many. Several processes may do so with the same records at once: nothing is
  /// lost or stored twice. A file's run of which the store has as many records is there; of other
  /// runs, those are added whose cell, time and line in the source are not.
  Result<std::size_t> append_new(const std::vector<std::vector<Record>>& batches);
  /// Stores the environment once, under its hash (fingerprint_id); returns the hash.
  Result<std::string> append_fingerprint(const Json& fingerprint);

  const std::filesystem::path& folder() const { return folder_; }

 private:
  Store(std::filesystem::path folder, LineFile records)
      : folder_(std::move(folder)), records_(std::move(records)) {}

  std::filesystem::path folder_;
  LineFile records_;
};

/// Returns the first 16 hexadecimal digits of the SHA-256 of the canonical (sorted, compact) JSON.
std::string fingerprint_id(const Json& fingerprint);

/// The result of reading a store.
struct StoredRecords {
  std::vector<Record> records;
  std::vector<std::string>
      problems;  ///< lines that were skipped: "records.jsonl:17: it is not JSON"
};

/// How much of each record to read.
enum class Detail {
  whole,
  summary,  ///< all but telemetry, which no verdict needs; several times faster
  /// As `summary`, but with the readings of the last run that has any, as far as its records follow
  /// one another.
  last_readings,
};

/// `path` is a store folder or a .jsonl file. Error: as unreadable(); usage if a line is too long.
Result<StoredRecords> read_records(const std::filesystem::path& path,
                                   Detail detail = Detail::whole);

}  // namespace assay

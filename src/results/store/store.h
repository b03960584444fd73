// Append-only results in a folder: records.jsonl, one record per line, and fingerprints.jsonl. Safe
// against a kill at any moment: lines are written under a file lock and synced; the next writer
// removes a torn last line, and readers ignore it.
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
  /// Creates the folder if necessary and checks that it is writable. Error: as create_folder()
  /// (core/write_file.h) and LineFile::open().
  static Result<Store> open(const std::filesystem::path& folder);

  /// Stores a record, which is durable when the call returns. Error: as LineFile::append(); earlier
  /// records stay intact.
  Status append(const Record& record);
  /// Stores all records, or none if it returns an error, which is as LineFile::append_chosen()'s;
  /// they are durable when the call returns.
  Status append(std::span<const Record> records);
  /// Appends the records that the store does not have yet, as if each batch came alone and in this
  /// order; returns how many. Several processes may do so with the same records at once: nothing is
  /// lost or stored twice. The store has a record if it has one with the same run, cell, time and
  /// line of the source. It has all records of an imported file's run if it has at least as many of
  /// that run as the batch, because the run's id is made from all of them. Error: as read_records()
  /// and LineFile::append_chosen(); then nothing was stored.
  Result<std::size_t> append_new(const std::vector<std::vector<Record>>& batches);
  /// Stores the environment, unless it is there, under its hash, fingerprint_id(), and returns the
  /// hash. Error: as LineFile::open() and append_unless().
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
  summary,  ///< all but telemetry's single readings, which no verdict needs; several times faster
  /// Like `summary`, but with the readings of the last run that has telemetry, as far as its
  /// records follow one another.
  last_readings,
};

/// `path` is a store's folder or a file like records.jsonl. Lines of up to 64 MiB are records; a
/// line that is none becomes a problem, and so does a torn last line. Error: as unreadable()
/// (core/input_file.h); usage if one is longer than 1 GiB.
Result<StoredRecords> read_records(const std::filesystem::path& path,
                                   Detail detail = Detail::whole);

}  // namespace assay

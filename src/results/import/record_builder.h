// Collects the records of one file during import. Facts that all rows of a run share are stored
// once, and may be found after the rows.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "results/import/importer.h"

namespace assay {

/// The facts shared by all records of one run of the program.
struct RunFacts {
  std::string tool;     ///< "rccl-tests"
  std::string version;  ///< empty: unknown
  std::string device;   ///< its marketing name; empty: unknown
  std::string time;     ///< in a form that iso_time() accepts; empty: unknown
  std::vector<std::pair<std::string, std::string>> notes;  ///< keys and texts

  /// Keeps the first value of each key, for at most 64 keys; empty values are ignored.
  void note(std::string_view key, std::string_view value);
};

/// Sets a note of the record itself; empty values are ignored.
void note(Record& record, std::string_view key, std::string_view value);

/// The records of one file. A file may hold the output of several runs, one after another.
class Draft {
 public:
  /// `format`: the importer's name. `tool`: RunFacts::tool of each run, unless it is changed.
  Draft(const ImportText& input, std::string_view format, std::string_view tool);

  /// Returns the facts of the current run.
  RunFacts& run() { return run_; }
  /// Returns whether this run has records yet.
  bool run_has_records() const { return run_begin_ < records_.size(); }
  /// Returns this run's records so far.
  Record* run_records() { return records_.data() + run_begin_; }
  std::size_t run_size() const { return records_.size() - run_begin_; }
  /// Returns whether there are more than `most_imported` records, so that reading can stop.
  bool is_full() const { return too_many_; }
  /// Must be called when the output of another run of the same program begins; the records that
  /// are added from then on belong to it.
  void next_run();

  /// Adds a record with status `passed`, which the caller may change; the reference is valid until
  /// the next add(). White space in axis values becomes "_", and an empty one "none". `line` is 0
  /// if the record has none.
  /// Once is_full(), the record is dropped.
  Record& add(const Cell& cell, std::size_t line);
  /// Adds "line 17: message"; for line 0 the message alone. The first hundred warnings are kept;
  /// further ones are only counted.
  void warn(std::size_t line, std::string_view message);
  /// Returns "NAME:LINE: message"; for line 0 "NAME: message".
  Error wrong(std::size_t line, std::string_view message) const;

  /// Completes the records: those with negative times or rates, but for "overhead", become
  /// `failed`; metrics without a name or a finite value are left out; passed records without any
  /// metric become `error`. complete_load() and
  /// keep_judged() are applied. Error: usage, if there is no record, or more than `most_imported`.
  Result<Imported> finish();

 private:
  void close_run();

  std::string name_;
  std::string format_;
  std::string tool_;
  std::string content_;  // hash of the file's text
  RunFacts run_;
  std::size_t run_begin_ = 0;
  std::size_t runs_ = 0;
  std::vector<Record> records_;
  std::vector<std::string> warnings_;
  std::size_t more_warnings_ = 0;
  bool too_many_ = false;
  Record overflow_;  // receives records beyond the limit
};

/// Converts "2026-01-02 03:04:05" or "2026-01-02T05:04:05.123456+02:00" to the form of records, ISO
/// 8601. If the text has a time zone, the result is in UTC and ends in Z; otherwise the time is
/// unchanged. Empty if the text is not a time.
std::string iso_time(std::string_view text);

/// Makes a metric whose value the program wrote as `text`, in its own unit.
Metric metric(std::string_view name, double value, std::string_view unit, Better better,
              std::string_view text);

}  // namespace assay

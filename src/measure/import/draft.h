// The records of one file while they are read: what a run's rows have in common is said once, and
// may be found after them.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "measure/import/importer.h"

namespace assay {

/// What all records of one run of the program share.
struct RunFacts {
  std::string tool;     ///< "rccl-tests"
  std::string version;  ///< empty: unknown
  std::string device;   ///< its marketing name; empty: unknown
  std::string time;     ///< as iso_time() reads it; empty: unknown
  std::vector<std::pair<std::string, std::string>> notes;

  /// Keeps the first value of a key, of at most 64 keys; empty ones are none.
  void note(std::string_view key, std::string_view value);
};

/// Sets or adds to the record's own notes; empty values are none.
void note(Record& record, std::string_view key, std::string_view value);

class Draft {
 public:
  Draft(const ImportText& input, std::string_view format, std::string_view tool);

  /// The facts of the run that is being read.
  RunFacts& run() { return run_; }
  /// Whether this run has records yet.
  bool run_has_records() const { return run_begin_ < records_.size(); }
  /// This run's records so far.
  Record* run_records() { return records_.data() + run_begin_; }
  std::size_t run_size() const { return records_.size() - run_begin_; }
  /// What follows is another run of the same program.
  void next_run();

  /// A record that is `passed` until said otherwise; the reference holds until the next add().
  /// `line`: 0 if the record has none.
  Record& add(const Cell& cell, std::size_t line);
  /// "line 17: message"; the first hundred are kept, the rest are counted.
  void warn(std::size_t line, std::string_view message);
  /// "NAME:LINE: message"; line 0: "NAME: message".
  Error wrong(std::size_t line, std::string_view message) const;

  /// What cannot be true or stored is marked: negative times and rates are `failed`, numbers too
  /// large are left out. Error: usage, if there is no record, or more than a million.
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
  Record overflow_;  // where add() sends what is too much
};

/// "2026-01-02 03:04:05", "2026-01-02T05:04:05.123456+02:00" as a record's time: ISO 8601, in UTC
/// and with a Z if the text names its zone, as it is if it does not; empty if it is no such time.
std::string iso_time(std::string_view text);

/// A metric whose value was written as `text`, in the program's own unit.
Metric metric(std::string_view name, double value, std::string_view unit, Better better,
              std::string_view text);

}  // namespace assay

// The runs of a tuning, stored as records in its folder, so that a stopped tuning can continue. Its
// search and its proof are deterministic: they ask for the same runs again, and those that are
// stored are not repeated.
//   DIR/tuning.yaml   the plan as it was given
//   DIR/records.jsonl, fingerprints.jsonl   a store of all runs
// Every record has the notes "tuning" (the part of the tuning: "search" or "proof") and "setting".
// The last record of a run also has the note "seconds", which shows that the run is complete.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/descriptor.h"
#include "core/result.h"
#include "results/store/store.h"

namespace assay {

class TrialLog {
 public:
  /// Measures a run that is not stored yet. `blank` has only the run's id, the fingerprint and the
  /// cell. The records returned get its id and fingerprint, but may have other cells.
  using Measure = std::function<Result<std::vector<Record>>(const Record& blank)>;

  /// Creates the folder, or continues it if it has the same plan. Error: usage if it has another
  /// plan (naming the first line that differs), is damaged, holds something else, or is in use by
  /// another process; file, if it may not be read or written; exhausted on a full disk.
  static Result<TrialLog> open(const std::filesystem::path& folder, std::string_view plan,
                               const Json& fingerprint);

  /// Returns the records of the next run: the stored ones, or else those that `measure` returns,
  /// which are on disk when this returns. `part` is search_part (results/record/record.h) or
  /// proof_part (tuning.h). If `measure` returns no record, or an error other than interrupted, one
  /// record of `cell` with the reason is stored. Error: interrupted; as Store::append(); usage if
  /// the stored run has another part or setting.
  Result<std::vector<Record>> run(std::string_view part, std::string_view setting, const Cell& cell,
                                  const Measure& measure);

  std::size_t kept() const { return kept_.size(); }  ///< complete runs of earlier processes
  std::size_t runs() const { return runs_; }         ///< calls of run(), whatever they returned
  double seconds() const { return seconds_; }        ///< total time of these runs, stored or not
  double last_seconds() const { return last_seconds_; }  ///< time of the last run

 private:
  TrialLog(std::unique_ptr<Descriptor> lock, Store store)
      : lock_(std::move(lock)), store_(std::move(store)) {}

  std::unique_ptr<Descriptor> lock_;  // held for this object's lifetime
  Store store_;
  std::string fingerprint_;
  std::vector<std::vector<Record>> kept_;  // records of each run
  std::size_t runs_ = 0;
  double seconds_ = 0, last_seconds_ = 0;
};

}  // namespace assay

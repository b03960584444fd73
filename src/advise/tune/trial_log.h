// The runs of a tuning, stored as records in its folder, so that a stopped tuning can continue. Its
// deterministic search asks for the same runs again, and those that are stored are not repeated.
//   DIR/tuning.yaml   the plan as it was given
//   DIR/records.jsonl, fingerprints.jsonl   a store of all runs
// Every record has notes with the part of the tuning and the setting. The last record of a run also
// has its duration, which shows that the run is complete.
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
  /// Measures a run that is not stored yet. `blank` has everything but results; the records
  /// returned are based on it.
  using Measure = std::function<Result<std::vector<Record>>(const Record& blank)>;

  /// Creates the folder, or continues it if it has the same plan. Error: usage if it has another
  /// plan (naming the first line that differs), is damaged, holds something else, or is in use by
  /// another process; exhausted on a full disk.
  static Result<TrialLog> open(const std::filesystem::path& folder, std::string_view plan,
                               const Json& fingerprint);

  /// Returns the records of the next run: the stored ones, or else at least one from `measure`,
  /// which are on disk when this returns. `part` is the value of the note tuning_note. An error of
  /// `measure` other than "interrupted" becomes a record of `cell` with that reason. Error:
  /// interrupted; from the store; usage if the stored run has another part or setting.
  Result<std::vector<Record>> run(std::string_view part, std::string_view setting, const Cell& cell,
                                  const Measure& measure);

  std::size_t kept() const { return kept_.size(); }  ///< number of stored runs of earlier processes
  std::size_t runs() const { return runs_; }         ///< number of runs returned so far
  double seconds() const { return seconds_; }        ///< total time of these runs
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

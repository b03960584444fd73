// The runs of a tuning, kept as records in its folder, so that a tuning that was stopped goes on
// where it was: a search that takes the same course asks for the same runs, and those that are
// kept are not made again.
//   DIR/tuning.yaml   the plan as it was given
//   DIR/records.jsonl, fingerprints.jsonl   a store of all runs
// Every record has notes: the part of the tuning, the setting, and in the last one of its run, how
// long that took, by which a run is known to be whole.
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
  /// Makes the records of a run that is not kept, from one with everything but its results.
  using Measure = std::function<Result<std::vector<Record>>(const Record& blank)>;

  /// Makes the folder, or continues it if it was begun with the same plan. Error: usage if it was
  /// begun with another plan (naming the first line that differs), is damaged, holds something
  /// else, or another process uses it; exhausted on a full disk.
  static Result<TrialLog> open(const std::filesystem::path& folder, std::string_view plan,
                               const Json& fingerprint);

  /// The next run, of a `part` as tuning_note says, of a setting: the kept one's records, or those
  /// that `measure` makes of it, at least one, durable when it returns. An error of `measure` other
  /// than "interrupted" is a result too: that of a run that failed, in a record of `cell`. Error:
  /// interrupted; from the store; usage, if the kept run is of another part or setting.
  Result<std::vector<Record>> run(std::string_view part, std::string_view setting, const Cell& cell,
                                  const Measure& measure);

  std::size_t kept() const { return kept_.size(); }      ///< runs of earlier processes
  std::size_t runs() const { return runs_; }             ///< given so far
  double seconds() const { return seconds_; }            ///< that these took
  double last_seconds() const { return last_seconds_; }  ///< that the last of them took

 private:
  TrialLog(std::unique_ptr<Descriptor> lock, Store store)
      : lock_(std::move(lock)), store_(std::move(store)) {}

  std::unique_ptr<Descriptor> lock_;  // held for this object's lifetime
  Store store_;
  std::string fingerprint_;
  std::vector<std::vector<Record>> kept_;  // by run
  std::size_t runs_ = 0;
  double seconds_ = 0, last_seconds_ = 0;
};

}  // namespace assay

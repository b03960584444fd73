// The journal of tuning GEMMs; its steps are outcomes.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <utility>

#include "advise/tune/gemm/product_outcome.h"
#include "advise/tune/tuning_journal.h"
#include "core/result.h"

namespace assay {

class GemmJournal {
 public:
  static constexpr const char* what = "assay tune gemm";

  /// Opens or creates the journal. Error: as TuningJournal::open(); usage if the journal is
  /// damaged.
  static Result<GemmJournal> open(const std::filesystem::path& folder, const Json& identity);
  /// Reads the outcomes of a journal without taking the lock. Error: as TuningJournal::read();
  /// usage if the journal is damaged.
  static Result<std::map<std::string, ProductOutcome>> read(const std::filesystem::path& folder);

  /// Returns the outcomes so far, by ProductOutcome::problem.
  const std::map<std::string, ProductOutcome>& done() const { return done_; }
  /// Appends an outcome, which is on disk when this returns. Error: as TuningJournal::append().
  Status append(const ProductOutcome& outcome);

 private:
  explicit GemmJournal(TuningJournal journal) : journal_(std::move(journal)) {}

  TuningJournal journal_;
  std::map<std::string, ProductOutcome> done_;
};

}  // namespace assay

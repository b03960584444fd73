// What tuning matrix products found so far: the steps of its journal.
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

  /// Error: as TuningJournal::open(); usage, if the journal is damaged.
  static Result<GemmJournal> open(const std::filesystem::path& folder, const Json& identity);
  /// What a journal has, without a lock.
  static Result<std::map<std::string, ProductOutcome>> read(const std::filesystem::path& folder);

  /// By ProductOutcome::problem.
  const std::map<std::string, ProductOutcome>& done() const { return done_; }
  /// Durable when it returns. Error: exhausted.
  Status append(const ProductOutcome& outcome);

 private:
  explicit GemmJournal(TuningJournal journal) : journal_(std::move(journal)) {}

  TuningJournal journal_;
  std::map<std::string, ProductOutcome> done_;
};

}  // namespace assay

// What tuning found so far, one line of JSON for each product, so that a tuner that was killed goes
// on where it was.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "core/descriptor.h"
#include "core/json.h"
#include "core/result.h"
#include "measure/store/line_file.h"
#include "tune/gemm/product_outcome.h"

namespace assay {

class GemmJournal {
 public:
  static constexpr const char* name = "journal.jsonl";

  /// Makes `folder` and the journal in it, with `identity` in its first line, or continues it. A
  /// last line that a dying process left unfinished is passed over. Error: usage, if the journal is
  /// something else, damaged, or of another identity, naming the first thing that differs; or if
  /// another process uses the folder; exhausted, if it cannot be written.
  static Result<GemmJournal> open(const std::filesystem::path& folder, const Json& identity);
  /// What a journal has, without a lock.
  static Result<std::map<std::string, ProductOutcome>> read(const std::filesystem::path& folder);

  /// By ProductOutcome::problem.
  const std::map<std::string, ProductOutcome>& done() const { return done_; }
  /// Durable when it returns. Error: exhausted.
  Status append(const ProductOutcome& outcome);

 private:
  GemmJournal(std::unique_ptr<Descriptor> lock, LineFile file)
      : lock_(std::move(lock)), file_(std::move(file)) {}
  Status write(const Json& line);

  std::unique_ptr<Descriptor> lock_;  // held for this object's lifetime
  LineFile file_;
  std::map<std::string, ProductOutcome> done_;
};

/// "libraries.hipblaslt is \"1.0\", here it is \"1.1\"": the first member in which two values
/// differ; empty if they are equal.
std::string first_difference(const Json& there, const Json& here);

}  // namespace assay

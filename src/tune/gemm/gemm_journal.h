// What tuning found so far, one line of JSON for each product, so that a tuner that was killed goes
// on where it was.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "core/descriptor.h"
#include "core/json.h"
#include "core/result.h"
#include "tune/gemm/product_outcome.h"

namespace assay {

class GemmJournal {
 public:
  /// Makes the file with `identity` in its first line, or continues it. A last line that a dying
  /// process left unfinished is passed over. Error: usage, if it is something else, damaged, or of
  /// another identity, naming the first thing that differs; or if another process uses it;
  /// exhausted, if it cannot be written.
  static Result<GemmJournal> open(const std::filesystem::path& file, const Json& identity);
  /// The same for reading only, without a lock.
  static Result<std::map<std::string, ProductOutcome>> read(const std::filesystem::path& file);

  /// By ProductOutcome::problem.
  const std::map<std::string, ProductOutcome>& done() const { return done_; }
  /// Durable when it returns. Error: exhausted.
  Status append(const ProductOutcome& outcome);

 private:
  Status write_line(const Json& line);

  std::filesystem::path path_;
  Descriptor file_;
  std::map<std::string, ProductOutcome> done_;
};

/// "libraries.hipblaslt is \"1.0\", here it is \"1.1\"": the first member in which two values
/// differ; empty if they are equal.
std::string first_difference(const Json& there, const Json& here);

}  // namespace assay

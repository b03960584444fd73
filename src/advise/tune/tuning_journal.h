// What a tuning has found so far, one line of JSON for each step, so that a killed tuner can
// continue.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/descriptor.h"
#include "core/json.h"
#include "core/result.h"
#include "results/record/device_facts.h"
#include "results/store/line_file.h"

namespace assay {

/// The content of a journal: its first line, and the others.
struct JournalLines {
  std::optional<Json> identity;  ///< none: the file is empty
  std::vector<Json> steps;       ///< in the order in which they were appended
};

/// Makes the error of a tuning that was asked to stop. Its message says that the same command
/// continues it.
Error stopped_tuning();

class TuningJournal {
 public:
  static constexpr const char* name = "journal.jsonl";

  /// Creates `folder` and its journal with `identity` in the first line, or continues an existing
  /// journal. The identity's member "what" names the command that writes it. An unfinished last
  /// line of a killed process is ignored. Error: usage if the journal is something else or has
  /// another identity (naming the first difference), if another process uses the folder, or if the
  /// folder holds another kind of tuning; file or exhausted if it cannot be read or written.
  static Result<TuningJournal> open(const std::filesystem::path& folder, const Json& identity);
  /// Reads the journal of the command `what` without taking the lock. Error: as read_operand()
  /// (core/read_file.h); usage, naming file and line.
  static Result<JournalLines> read(const std::filesystem::path& folder, std::string_view what);

  /// Returns the steps that the journal had when it was opened.
  const std::vector<Json>& steps() const { return steps_; }
  /// Returns `error`, about step number `i` (from 0), with the file and line added, as kind usage.
  static Error about_step(const std::filesystem::path& folder, std::size_t i, const Error& error);
  /// Appends a step, which is on disk when this returns. Error: as LineFile::append().
  Status append(const Json& step);

 private:
  TuningJournal(std::unique_ptr<Descriptor> lock, LineFile file)
      : lock_(std::move(lock)), file_(std::move(file)) {}

  std::unique_ptr<Descriptor> lock_;  // held for this object's lifetime
  LineFile file_;
  std::vector<Json> steps_;
};

/// Returns the properties of a device that a tuning depends on, for an identity.
Json identity_of_device(const DeviceFacts& facts);

/// Returns the first member in which two values differ, as text: "libraries.hipblaslt is \"1.0\",
/// here it is \"1.1\""; empty if they are equal.
std::string first_difference(const Json& there, const Json& here);

}  // namespace assay

// What a tuning found so far, one line of JSON for each step, so that a tuner that was killed goes
// on where it was.
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

/// What a journal holds: its first line, and the others.
struct JournalLines {
  std::optional<Json> identity;  ///< none: the file is empty
  std::vector<Json> steps;
};

/// Of a tuning that was asked to stop: what its folder has, the next run goes on with.
Error stopped_tuning();

class TuningJournal {
 public:
  static constexpr const char* name = "journal.jsonl";

  /// Makes `folder` and the journal in it, with `identity` in its first line, or continues it; the
  /// identity's member "what" says which command writes it. A last line that a dying process left
  /// unfinished is passed over. Error: usage, if the journal is something else or of another
  /// identity, naming the first thing that differs; or if another process uses the folder, or it
  /// holds a tuning of another kind; exhausted, if it cannot be written.
  static Result<TuningJournal> open(const std::filesystem::path& folder, const Json& identity);
  /// What the journal of the command `what` holds, without a lock. Error: usage, naming file and
  /// line.
  static Result<JournalLines> read(const std::filesystem::path& folder, std::string_view what);

  /// What was there when it was opened.
  const std::vector<Json>& steps() const { return steps_; }
  /// The same error for what the `i`-th step holds, naming file and line.
  static Error about_step(const std::filesystem::path& folder, std::size_t i, const Error& error);
  /// Durable when it returns. Error: exhausted.
  Status append(const Json& step);

 private:
  TuningJournal(std::unique_ptr<Descriptor> lock, LineFile file)
      : lock_(std::move(lock)), file_(std::move(file)) {}

  std::unique_ptr<Descriptor> lock_;  // held for this object's lifetime
  LineFile file_;
  std::vector<Json> steps_;
};

/// What of a device a tuning depends on, for an identity.
Json identity_of_device(const DeviceFacts& facts);

/// "libraries.hipblaslt is \"1.0\", here it is \"1.1\"": the first member in which two values
/// differ; empty if they are equal.
std::string first_difference(const Json& there, const Json& here);

}  // namespace assay

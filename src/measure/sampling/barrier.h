// Lets several processes on one host start each cell together. They synchronise through a folder: a
// process that reaches a step creates a file there, and all continue when there is one file per
// process.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "core/result.h"

namespace assay {

class Barrier {
 public:
  /// Parses "4:/path/to/folder". Error: usage if it is not COUNT:FOLDER with a count from 2 to
  /// 4096, or if the folder does not exist.
  static Result<Barrier> parse(std::string_view text);

  /// Reports that this process has reached `step`, a number that all processes give to the same
  /// cell. A process that will not wait (its cell cannot be measured) must call this too, so that
  /// the others do not wait for it. Error: failed if the file cannot be created.
  Status arrive(std::size_t step) const;
  /// Waits until all have arrived at `step`. Error: interrupted if `stop_requested` returns true;
  /// failed after two minutes, when a process has probably died.
  Status wait(std::size_t step, const std::function<bool()>& stop_requested) const;

 private:
  Barrier(std::size_t count, std::filesystem::path folder);

  std::size_t count_;
  std::filesystem::path folder_;
  std::string name_;  // this process's name in the folder, unlike that of any other
};

}  // namespace assay

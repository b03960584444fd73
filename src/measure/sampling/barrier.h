// Several processes of one host that start each cell together. They meet in a folder: whoever has
// come to a step leaves a file there, and all go on when there are as many as there are processes.
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
  /// "4:/path/to/folder". Error: usage if it is not COUNT:FOLDER with a count from 2 to 4096, or
  /// there is no such folder.
  static Result<Barrier> parse(std::string_view text);

  /// This process has come to `step`. Whoever will not wait (its cell cannot be measured) says so
  /// too, so that the others do not wait for it.
  Status arrive(std::size_t step) const;
  /// Until all have arrived at `step`. Error: interrupted if `stop_requested`; failed after two
  /// minutes, which means that a process died.
  Status wait(std::size_t step, const std::function<bool()>& stop_requested) const;

 private:
  Barrier(std::size_t count, std::filesystem::path folder);

  std::size_t count_;
  std::filesystem::path folder_;
  std::string name_;  // of this process in the folder
};

}  // namespace assay

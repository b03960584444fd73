// Run-time compilation in a child process: some hipRTC releases abort the process on an
// architecture they do not know, and a measuring run must survive that.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/result.h"

namespace assay {

struct CompileRequest {
  std::string library;               ///< path of the RTC library to load in the child
  std::string vendor;                ///< "cuda" or "hip": which names its functions have
  std::string name;                  ///< file name for messages
  std::string source;                ///< complete text, includes resolved
  std::vector<std::string> options;  ///< e.g. "--gpu-architecture=gfx942"
  double timeout_seconds = 120;      ///< of the child; it is killed when they have passed
};

/// Compiles in a child made from this executable. Error: failed with the compiler's log, or in one
/// line that the compiler crashed (with which signal and last words) or did not end in time;
/// unavailable if no child could be started.
Result<std::string> compile_in_child(const CompileRequest& request);

/// To be called first in main(): when this process is such a child, compiles and returns its exit
/// status; otherwise returns nothing at once.
std::optional<int> run_as_rtc_worker(int argc, char** argv);

}  // namespace assay

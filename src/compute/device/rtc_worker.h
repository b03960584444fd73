// Run-time compilation in a child process: some hipRTC releases abort the process on an unknown
// architecture, and a run must survive that.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/result.h"

namespace assay {

struct CompileRequest {
  std::string library;               ///< path of the RTC library to load
  std::string vendor;                ///< "cuda" or "hip": determines the names of its functions
  std::string name;                  ///< file name for messages
  std::string source;                ///< complete text, includes resolved
  std::vector<std::string> options;  ///< e.g. "--gpu-architecture=gfx942"
  double timeout_seconds = 120;      ///< the child is killed after this time
};

/// Compiles in a child process running this executable, and returns the device's code. Error:
/// failed, with the child's message (the compiler's log), or with one line saying that the compiler
/// crashed (with signal and last output) or timed out; unavailable if no child could be started.
Result<std::string> compile_in_child(const CompileRequest& request);

/// Call this first in main(). If this process is such a child, it compiles and ends the process, or
/// returns the exit status if it got no whole request; otherwise it returns nullopt at once.
std::optional<int> run_as_rtc_worker(int argc, char** argv);

}  // namespace assay

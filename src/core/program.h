// Runs another program to its end: its words as a list, never a shell's text; its output as it
// comes; its whole process group ended when it takes too long or nobody wants it any more.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"

namespace assay {

struct ProgramStart {
  std::vector<std::string> words;  ///< the first is looked for in PATH unless it holds a '/'
  std::vector<std::pair<std::string, std::string>> variables = {};  ///< besides this process's own
  std::string folder = {};                       ///< where it starts; empty: where this process is
  std::string input_file = {};                   ///< its standard input; empty: nothing
  double timeout_seconds = 0;                    ///< 0: none
  double grace_seconds = 5;                      ///< from SIGTERM to SIGKILL
  std::vector<int> cpus = {};                    ///< its affinity; empty: this process's
  std::uint64_t address_space_bytes = 0;         ///< limit of its memory mappings; 0: none
  std::vector<std::string> control_groups = {};  ///< cgroup.procs files it joins before it starts
  std::function<bool()> stop_requested = {};     ///< polled ten times a second
  /// Gets each whole line of standard output, and the last one if it lacks its newline. A line is
  /// cut at 64 MiB.
  std::function<void(std::string_view line)> line = {};
  std::function<void(std::string_view line)> error_line = {};  ///< the same of standard error
};

struct ProgramEnd {
  int status = 0;           ///< exit status, or 128 + the signal that ended it
  bool timed_out = false;   ///< it was ended because its time was over
  bool stopped = false;     ///< it was ended because stop_requested() said so
  std::string errors_tail;  ///< the last 4 KiB of its standard error, whole lines
};

/// Returns when the program and everything that holds its output has ended. It leads a process
/// group of its own: Ctrl-C reaches this process alone, which ends the group by SIGTERM and, after
/// `grace_seconds`, by SIGKILL. It dies when this process does. Error: unavailable, naming the
/// program, if it cannot be started.
Result<ProgramEnd> run_program(const ProgramStart& program);

/// Where PATH has `name`, or `name` itself if it holds a '/' and can be executed.
std::optional<std::string> find_program(const std::string& name);

/// The last line of `text` that holds more than blanks, without what surrounds it; empty: none.
std::string last_line(std::string_view text);

}  // namespace assay

// Runs another program to completion. Arguments are a list and never pass through a shell. Output
// is delivered line by line as it arrives. On a timeout or on request the whole process group is
// ended.
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
  std::vector<std::string> words;  ///< the first is looked up in PATH unless it contains '/'
  /// added to this process's variables
  std::vector<std::pair<std::string, std::string>> variables = {};
  std::string folder = {};                ///< its working directory; empty: that of this process
  std::string input_file = {};            ///< file for its standard input; empty: `input`
  std::string input = {};                 ///< text on its standard input, kept in memory only
  double timeout_seconds = 0;             ///< 0: none
  double grace_seconds = 5;               ///< from SIGTERM to SIGKILL
  std::vector<int> cpus = {};             ///< its affinity; empty: this process's
  std::uint64_t address_space_bytes = 0;  ///< limit on its address space; 0: none
  std::vector<std::string> control_groups = {};  ///< cgroup.procs of groups that it joins
  std::function<bool()> stop_requested = {};     ///< polled ten times a second
  /// Called with each line of standard output, including a last one without a newline. A line is
  /// cut at 64 MiB.
  std::function<void(std::string_view line)> line = {};
  std::function<void(std::string_view line)> error_line = {};  ///< the same for standard error
};

struct ProgramEnd {
  int status = 0;          ///< exit status, or 128 + the signal that ended it
  bool timed_out = false;  ///< it was ended because it exceeded timeout_seconds
  bool stopped = false;    ///< it was ended because stop_requested() returned true
  /// The last 4 KiB of its standard error, whole lines, without secrets: it goes into messages,
  /// records and pages.
  std::string errors_tail;
};

/// Returns when the program and every process that holds its output have ended. The program leads a
/// separate process group: Ctrl-C reaches only this process, which ends the group with SIGTERM and,
/// after `grace_seconds`, SIGKILL. The program dies when this process does. Error: unavailable,
/// naming the program, if it cannot be started.
Result<ProgramEnd> run_program(const ProgramStart& program);

/// Kills every program that run_program() runs now, each with its process group. It is safe in a
/// signal handler and meant for a process that is about to end itself: the system would kill only
/// the programs, not the processes that they started.
void kill_programs();

/// Returns the path of `name` in PATH, or `name` itself if it contains '/' and is executable.
std::optional<std::string> find_program(const std::string& name);

/// Returns the last line of `text` that is not blank, without surrounding blanks; empty if there is
/// none.
std::string last_line(std::string_view text);

}  // namespace assay

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
  /// The program and its arguments. The program is looked up in this process's PATH, not in that of
  /// `variables`, unless it contains '/'.
  std::vector<std::string> words;
  /// Names and values of environment variables that are added to this process's, or replace them.
  std::vector<std::pair<std::string, std::string>> variables = {};
  std::string input_file = {};            ///< file for its standard input; empty: `input`
  std::string input = {};                 ///< text on its standard input; never written to disk
  double timeout_seconds = 0;             ///< 0: none
  double grace_seconds = 5;               ///< from SIGTERM to SIGKILL
  std::vector<int> cpus = {};             ///< kernel numbers of its CPUs; empty: this process's
  std::uint64_t address_space_bytes = 0;  ///< limit on its address space; 0: this process's
  std::vector<std::string> control_groups = {};  ///< files cgroup.procs of groups that it joins
  std::function<bool()> stop_requested = {};     ///< if set, asked at least ten times a second
  /// Called by the thread that waits in run_program() with each line of standard output, without
  /// its newline; the last line need not have one. A line is cut at about 64 MiB. Null: the output
  /// is discarded.
  std::function<void(std::string_view line)> line = {};
  std::function<void(std::string_view line)> error_line = {};  ///< the same for standard error
};

struct ProgramEnd {
  int status = 0;          ///< exit status; 128 + the signal that ended it; 137 if it was given up
  bool timed_out = false;  ///< it was ended because it exceeded timeout_seconds
  bool stopped = false;    ///< it was ended because stop_requested() returned true
  /// The last lines of its standard error, at most 4 KiB, without secrets (core/secrets.h), because
  /// they go into messages, records and pages.
  std::string errors_tail;
};

/// Runs a program and returns when it has ended. It leads a separate process group, so that Ctrl-C
/// reaches only this process. The group gets SIGTERM and, after `grace_seconds`, SIGKILL on a
/// timeout, when stop_requested() returns true, and when the program has ended but other processes
/// still hold its output. What is left of the group is killed before this returns. A process that
/// survives SIGKILL, or that left the group, is given up after another `grace_seconds`. The system
/// kills the program when the thread that called this ends. Error: unavailable, naming the program,
/// if it cannot be started for any reason.
Result<ProgramEnd> run_program(const ProgramStart& program);

/// Kills the programs that run_program() runs now, at most 1024, each with its process group. It is
/// safe in a signal handler and meant for a process that is about to end itself: the system would
/// kill only the programs, not the processes that they started.
void kill_programs();

/// Returns the path of `name` in PATH, or `name` itself if it contains '/'; nullopt if there is no
/// such executable file.
std::optional<std::string> find_program(const std::string& name);
/// Error: unavailable, "cannot start NAME: there is no such program in PATH", if find_program()
/// does not find it.
Status check_that_starts(const std::string& name);

/// Returns the last line of `text` that is not blank, without surrounding blanks; empty if there is
/// none.
std::string last_line(std::string_view text);

}  // namespace assay

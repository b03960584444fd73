// Exit statuses: part of the interface, listed in the help, the man page and the README.
#pragma once

#include <array>
#include <string_view>

namespace assay::cli {

/// `exit_code_texts` says what each means. An Error's kind decides the status of a command that it
/// ends: report() in cli.h.
enum ExitCode : int {
  exit_ok = 0,
  exit_cell_error = 1,
  exit_differs = 1,  ///< the same status, of commands that compare
  exit_usage = 2,
  exit_verification = 3,
  exit_nothing_ran = 4,
  exit_io = 5,
  exit_inconclusive = 6,
  exit_interrupted = 130,
};

struct ExitCodeText {
  ExitCode code;
  std::string_view meaning;
};

inline constexpr std::array<ExitCodeText, 8> exit_code_texts = {{
    {exit_ok, "everything requested was done, or as much as --budget allows"},
    {exit_cell_error,
     "some cells ended in an error, a check of `assay doctor` or a line of `assay health` failed, "
     "`assay compare` or `assay diff` found a difference, `assay fleet` outliers or two groups, "
     "`assay history` a change for the worse, or `assay load` no rate that meets the targets"},
    {exit_usage, "the command line, an axis or a suite is wrong"},
    {exit_verification,
     "a benchmark or a server's check computed a wrong result, or results cannot be compared"},
    {exit_nothing_ran, "nothing could be measured on this machine"},
    {exit_io, "a file, the store or standard output could not be written or read"},
    {exit_inconclusive,
     "`assay compare` could prove neither equality nor a difference, `assay fleet` or `assay "
     "health "
     "accept` could not tell, a tuning proved nothing, or a search for a rate ended too early"},
    {exit_interrupted, "stopped by SIGINT, SIGTERM or SIGHUP; results so far are stored"},
}};

}  // namespace assay::cli

// Compiler tools, run as child processes without a shell and with a time limit.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace assay::occupancy {

/// Where a tool may be.
struct ToolPlaces {
  std::string name;                   ///< "ptxas", looked for on PATH
  std::vector<std::string> patterns;  ///< glob patterns of files, tried in order before PATH
  std::string advice;                 ///< what to install if the tool is missing
  std::string variable;  ///< environment variable; if not empty, it names the only file tried
};
ToolPlaces ptxas_places();
/// Returns the places of a disassembler of AMD code.
ToolPlaces objdump_places();

/// Returns all tools that exist and can be run, in the order in which they should be tried. The
/// matches of a pattern are in descending order, numbers in them compared as numbers. Error:
/// unavailable, naming the places and the advice, or the variable if its file cannot be run.
Result<std::vector<std::string>> find_tools(const ToolPlaces& places);
/// Returns the first of find_tools(). Error: the same.
Result<std::string> find_tool(const ToolPlaces& places);

struct ToolOutput {
  std::string text;      ///< standard output; the last line always ends in "\n"
  std::string messages;  ///< standard error, likewise
};

/// The path at which a tool finds `input`.
constexpr const char* tool_input = "/dev/stdin";

/// Runs `path` with `arguments` and with `input` as a file at `tool_input`. Error: unavailable if
/// it cannot be started; failed with the last line of its standard error if its exit status is not
/// 0, it takes too long, or it writes more than 1 GiB.
Result<ToolOutput> run_tool(const std::string& path, const std::vector<std::string>& arguments,
                            std::string_view input, double timeout_seconds = 60);

}  // namespace assay::occupancy

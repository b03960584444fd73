// Compiler tools, run as child processes without a shell and with a time limit.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace assay::occupancy {

struct ToolPlaces {
  std::string name;                   ///< "ptxas", looked for on PATH
  std::vector<std::string> patterns;  ///< glob patterns, tried before PATH, the best last
  std::string advice;                 ///< what to install if the tool is missing
  std::string variable;               ///< environment variable that names the only file to use
};
ToolPlaces ptxas_places();
/// A disassembler of AMD code.
ToolPlaces objdump_places();

/// All tools that exist and can be run, the best first. Error: unavailable, naming the places and
/// the advice.
Result<std::vector<std::string>> find_tools(const ToolPlaces& places);
Result<std::string> find_tool(const ToolPlaces& places);

struct ToolOutput {
  std::string text;      ///< standard output, complete lines only
  std::string messages;  ///< standard error, complete lines only
};

/// The path at which a tool finds `input`.
constexpr const char* tool_input = "/dev/stdin";

/// Runs `path` with `arguments` and with `input` as a readable file. Error: unavailable if it
/// cannot be started; failed with its last output if its exit status is not 0 or it takes too long.
Result<ToolOutput> run_tool(const std::string& path, const std::vector<std::string>& arguments,
                            std::string_view input, double timeout_seconds = 60);

}  // namespace assay::occupancy

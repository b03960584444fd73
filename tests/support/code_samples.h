// Compiles GPU code for tests with compilers found on this machine; nullopt if there are none.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "advise/occupancy/tool.h"
#include "core/read_file.h"
#include "support/temporary_folder.h"

namespace assay {

/// The message with which a test that needs `compile_hip` is skipped.
constexpr const char* no_clang = "no clang-19 with lld-19 here: install clang-19 lld-19";
constexpr const char* no_nvcc = "no nvcc here";

/// Returns the file that `tool` compiles from `source`; the last of `arguments` is its option for
/// the output.
inline std::optional<std::string> compile_by(const occupancy::ToolPlaces& tool,
                                             std::vector<std::string> arguments,
                                             std::string_view source) {
  const auto path = occupancy::find_tool(tool);
  if (!path) return std::nullopt;
  const TemporaryFolder folder;
  const std::string output = folder.path() / "output";
  arguments.insert(arguments.end(), {"-o", output, occupancy::tool_input});
  const auto done = occupancy::run_tool(*path, arguments, source);
  if (!done) {
    ADD_FAILURE() << done.error().message;
    return std::nullopt;
  }
  return read_file(output);
}

/// Returns a code object, or assembly text if `options` contain "-S". The source includes no
/// headers and declares __global__ and the like itself.
inline std::optional<std::string> compile_hip(std::string_view source, const std::string& arch,
                                              const std::vector<std::string>& options = {}) {
  std::vector<std::string> arguments = {"-x",
                                        "hip",
                                        "-nogpulib",
                                        "-nogpuinc",
                                        "-O2",
                                        "--offload-device-only",
                                        "--no-gpu-bundle-output",
                                        "--offload-arch=" + arch};
  arguments.insert(arguments.end(), options.begin(), options.end());
  return compile_by({"clang-19", {}, "", {}}, arguments, source);
}

/// Returns a cubin for "-cubin", PTX for "-ptx", an object file for "-c".
inline std::optional<std::string> compile_cuda(std::string_view source, const std::string& arch,
                                               const std::string& kind,
                                               const std::vector<std::string>& options = {}) {
  std::vector<std::string> arguments = {"-x", "cu", kind, "-arch=" + arch};
  arguments.insert(arguments.end(), options.begin(), options.end());
  return compile_by({"nvcc", {"/usr/local/cuda*/bin/nvcc"}, "", {}}, arguments, source);
}

}  // namespace assay

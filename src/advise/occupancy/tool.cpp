#include "advise/occupancy/tool.h"

#include <fmt/format.h>
#include <glob.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/descriptor.h"
#include "core/environment_value.h"
#include "core/program.h"
#include "core/secrets.h"

namespace assay::occupancy {
namespace {

constexpr std::size_t most_output = std::size_t{1} << 30;  // bytes

bool write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) return false;
    if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

void add_matches(const std::string& pattern, std::vector<std::string>& files) {
  glob_t found{};
  std::vector<std::string> matches;
  if (::glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found) == 0) {
    matches.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  }
  ::globfree(&found);
  // The highest version first.
  std::sort(matches.begin(), matches.end(), [](const std::string& a, const std::string& b) {
    return ::strverscmp(a.c_str(), b.c_str()) > 0;
  });
  for (const std::string& match : matches) {
    if (find_program(match)) files.push_back(match);
  }
}

}  // namespace

ToolPlaces ptxas_places() {
  return {"ptxas",
          {"/usr/local/cuda*/bin/ptxas", "/opt/cuda/bin/ptxas"},
          "install CUDA's package cuda-nvcc, or pip's nvidia-cuda-nvcc, and put it on PATH",
          "ASSAY_PTXAS"};
}

ToolPlaces objdump_places() {
  return {"llvm-objdump",
          {"/opt/rocm*/llvm/bin/llvm-objdump", "/opt/rocm/core*/lib/llvm/bin/llvm-objdump",
           "/usr/lib/llvm-[1-9][0-9]/bin/llvm-objdump"},
          "install ROCm's compiler, or the package llvm-19 or later",
          "ASSAY_LLVM_OBJDUMP"};
}

Result<std::vector<std::string>> find_tools(const ToolPlaces& places) {
  if (const std::string chosen = environment_value(places.variable.c_str()); !chosen.empty()) {
    if (find_program(chosen)) return std::vector{chosen};
    return Error{ErrorKind::unavailable,
                 fmt::format("{} is {}, which cannot be run: name an {}, or unset it",
                             places.variable, chosen, places.name)};
  }
  std::vector<std::string> files;
  for (const std::string& pattern : places.patterns) add_matches(pattern, files);
  if (auto file = find_program(places.name)) files.push_back(std::move(*file));
  if (!files.empty()) return files;
  return Error{ErrorKind::unavailable,
               fmt::format("{} was not found: looked for {} and on PATH; {}", places.name,
                           fmt::join(places.patterns, ", "), places.advice)};
}

Result<std::string> find_tool(const ToolPlaces& places) {
  return TRY(find_tools(places)).front();
}

Result<ToolOutput> run_tool(const std::string& path, const std::vector<std::string>& arguments,
                            std::string_view input, double timeout_seconds) {
  const Descriptor file(::memfd_create("assay-tool-input", MFD_CLOEXEC));
  if (file.number() < 0 || !write_all(file.number(), input)) {
    return Error{ErrorKind::unavailable,
                 fmt::format("cannot start {}: {}", path, std::strerror(errno))};
  }
  ToolOutput output;
  ProgramStart program;
  program.words = {path};
  program.words.insert(program.words.end(), arguments.begin(), arguments.end());
  program.input_file = fmt::format("/proc/self/fd/{}", file.number());
  program.timeout_seconds = timeout_seconds;
  program.line = [&](std::string_view line) { output.text.append(line).push_back('\n'); };
  program.error_line = [&](std::string_view line) { output.messages.append(line).push_back('\n'); };
  program.stop_requested = [&] {
    return output.text.size() + output.messages.size() > most_output;
  };
  const ProgramEnd end = TRY(run_program(program));
  if (end.status == 0 && !end.stopped && !end.timed_out) return output;
  const std::string message = hide_secrets_in(last_line(output.messages));
  const std::string ending =
      end.timed_out      ? fmt::format("did not finish within {} s", timeout_seconds)
      : end.stopped      ? fmt::format("wrote more than {} bytes", most_output)
      : end.status > 128 ? fmt::format("crashed with signal {}", end.status - 128)
                         : fmt::format("ended with status {}", end.status);
  return Error{ErrorKind::failed,
               fmt::format("{} {}{}{}", path, ending, message.empty() ? "" : ": ", message)};
}

}  // namespace assay::occupancy

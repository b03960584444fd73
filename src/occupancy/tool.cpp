#include "occupancy/tool.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <glob.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "core/child_process.h"
#include "core/suggest.h"

namespace assay::occupancy {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t most_output = std::size_t{1} << 30;  // bytes

bool write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) return false;
    if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

/// A pipe whose ends lie above the numbers that the child's files get.
bool make_pipe(Descriptor& read_end, Descriptor& write_end) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return false;
  read_end.reset(ends[0]);
  write_end.reset(::fcntl(ends[1], F_DUPFD_CLOEXEC, child_conversation + 1));
  ::close(ends[1]);
  return write_end.number() >= 0;
}

/// Reads both pipes until the child has closed them; false if `deadline` or the limit came first.
bool collect(Descriptor& output, Descriptor& messages, ToolOutput& result,
             Clock::time_point deadline) {
  std::array<std::pair<Descriptor*, std::string*>, 2> pipes = {
      {{&output, &result.text}, {&messages, &result.messages}}};
  std::array<char, 65536> buffer;
  while (output.number() >= 0 || messages.number() >= 0) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0 || result.text.size() + result.messages.size() > most_output) return false;
    std::array<pollfd, 2> waiting = {
        {{output.number(), POLLIN, 0}, {messages.number(), POLLIN, 0}}};
    ::poll(waiting.data(), waiting.size(), static_cast<int>(left));
    for (std::size_t i = 0; i < pipes.size(); ++i) {
      if (waiting[i].revents == 0) continue;
      const ssize_t got = ::read(pipes[i].first->number(), buffer.data(), buffer.size());
      if (got > 0) pipes[i].second->append(buffer.data(), static_cast<std::size_t>(got));
      if (got == 0 || (got < 0 && errno != EINTR)) pipes[i].first->close();
    }
  }
  return true;
}

std::string last_line(std::string text) {
  text.erase(text.find_last_not_of(" \n\r\t") + 1);
  return text.substr(text.rfind('\n') + 1);  // npos + 1 == 0: the only line
}

void add_matches(const std::string& pattern, std::vector<std::string>& files) {
  glob_t found{};
  if (::glob(pattern.c_str(), 0, nullptr, &found) == 0) {
    // Sorted: the highest version comes last.
    for (std::size_t i = found.gl_pathc; i > 0; --i) {
      if (::access(found.gl_pathv[i - 1], X_OK) == 0) files.emplace_back(found.gl_pathv[i - 1]);
    }
  }
  ::globfree(&found);
}

}  // namespace

ToolPlaces ptxas_places() {
  return {"ptxas",
          {"/usr/local/cuda*/bin/ptxas", "/opt/cuda/bin/ptxas"},
          "install CUDA's package cuda-nvcc, or pip's nvidia-cuda-nvcc, and put it on PATH"};
}

ToolPlaces objdump_places() {
  return {"llvm-objdump",
          {"/opt/rocm*/llvm/bin/llvm-objdump", "/opt/rocm/core*/lib/llvm/bin/llvm-objdump",
           "/usr/lib/llvm-[1-9][0-9]/bin/llvm-objdump"},
          "install ROCm's compiler, or the package llvm-19 or later"};
}

Result<std::vector<std::string>> find_tools(const ToolPlaces& places) {
  std::vector<std::string> files;
  for (const std::string& pattern : places.patterns) add_matches(pattern, files);
  const char* variable = std::getenv("PATH");
  std::string_view path = variable != nullptr ? variable : "";
  while (!path.empty()) {
    const std::string_view folder = path.substr(0, path.find(':'));
    path.remove_prefix(std::min(folder.size() + 1, path.size()));
    const std::string file = fmt::format("{}/{}", folder, places.name);
    if (!folder.empty() && ::access(file.c_str(), X_OK) == 0) files.push_back(file);
  }
  if (!files.empty()) return files;
  return Error{ErrorKind::unavailable,
               fmt::format("{} is not here: looked for {} and on PATH; {}", places.name,
                           join(places.patterns), places.advice)};
}

Result<std::string> find_tool(const ToolPlaces& places) {
  return TRY(find_tools(places)).front();
}

Result<ToolOutput> run_tool(const std::string& path, const std::vector<std::string>& arguments,
                            std::string_view input, double timeout_seconds) {
  const auto cannot_start = [&](int number) {
    return Error{ErrorKind::unavailable,
                 fmt::format("cannot start {}: {}", path, ::strerror(number))};
  };
  const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                           std::chrono::duration<double>(timeout_seconds));
  const Descriptor plain(::memfd_create("assay-tool-input", MFD_CLOEXEC));
  if (plain.number() < 0 || !write_all(plain.number(), input)) return cannot_start(errno);
  const Descriptor file(::fcntl(plain.number(), F_DUPFD_CLOEXEC, child_conversation + 1));
  Descriptor output, messages, output_in, messages_in;
  if (file.number() < 0 || !make_pipe(output, output_in) || !make_pipe(messages, messages_in)) {
    return cannot_start(errno);
  }
  std::vector<std::string> words = {path};
  words.insert(words.end(), arguments.begin(), arguments.end());
  const pid_t child = start_child(path, std::move(words),
                                  {output_in.number(), messages_in.number(), file.number()});
  if (child < 0) return cannot_start(-child);
  output_in.close();
  messages_in.close();

  ToolOutput result;
  const bool complete = collect(output, messages, result, deadline);
  if (!complete) ::kill(child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (complete && WIFEXITED(status) && WEXITSTATUS(status) == 0) return result;
  const std::string message = last_line(result.messages);
  const std::string ending =
      !complete ? fmt::format("did not end within {} s or wrote too much", timeout_seconds)
      : WIFSIGNALED(status) ? fmt::format("crashed with signal {}", WTERMSIG(status))
                            : fmt::format("ended with status {}", WEXITSTATUS(status));
  return Error{ErrorKind::failed,
               fmt::format("{} {}{}{}", path, ending, message.empty() ? "" : ": ", message)};
}

}  // namespace assay::occupancy

#include "emulator/coverage.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>

namespace mi300x {
namespace {

/// Never destroyed, so that a launch in a late destructor still counts.
struct Record {
  std::mutex mutex;
  Coverage coverage;
};

void append_to_file();

Record& record() {
  static Record* const only = [] {
    if (std::getenv("MI300X_COVERAGE")) std::atexit(append_to_file);
    return new Record;
  }();
  return *only;
}

void append_to_file() {
  const Coverage all = coverage();
  std::string lines;
  for (const auto& [name, count] : all.compiled)
    lines += fmt::format("compiled {} {}\n", name, count);
  for (const auto& [name, count] : all.kernels) lines += fmt::format("kernel {} {}\n", name, count);
  for (const auto& [name, count] : all.instructions)
    lines += fmt::format("instruction {} {}\n", name, count);
  append_coverage(lines);
}

}  // namespace

void append_coverage(const std::string& lines) {
  const char* path = std::getenv("MI300X_COVERAGE");
  if (!path) return;
  const int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  const bool written =
      file >= 0 && write(file, lines.data(), lines.size()) == static_cast<ssize_t>(lines.size());
  if (file >= 0) close(file);
  if (!written) std::perror("MI300X_COVERAGE");
}

void add_to_coverage(const CodeObject& code) {
  Record& all = record();
  const std::lock_guard lock(all.mutex);
  for (const auto& [name, kernel] : code.kernels) ++all.coverage.compiled[name];
}

void add_to_coverage(const Kernel& kernel, const CodeObject& code,
                     const std::vector<u64>& executions) {
  Record& all = record();
  const std::lock_guard lock(all.mutex);
  ++all.coverage.kernels[kernel.info.name];
  for (std::size_t i = 0; i < executions.size(); ++i)
    if (executions[i] > 0)
      all.coverage.instructions[std::string(code.code[i].operation->name)] += executions[i];
}

Coverage coverage() {
  Record& all = record();
  const std::lock_guard lock(all.mutex);
  return all.coverage;
}

}  // namespace mi300x

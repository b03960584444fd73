#include "measure/sampling/barrier.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <random>
#include <system_error>
#include <thread>

#include "core/units.h"

namespace assay {
namespace {

constexpr std::chrono::milliseconds look_interval{1};
constexpr std::chrono::minutes patience{2};

}  // namespace

/// Processes in different containers may have the same number, so a random one is added.
Barrier::Barrier(std::size_t count, std::filesystem::path folder)
    : count_(count),
      folder_(std::move(folder)),
      name_(fmt::format("{}-{:08x}", ::getpid(), std::random_device{}())) {}

Result<Barrier> Barrier::parse(std::string_view text) {
  constexpr std::size_t most = 4096;
  const std::size_t colon = text.find(':');
  const auto count = parse_integer(text.substr(0, colon));
  const std::filesystem::path folder =
      colon == std::string_view::npos ? "" : std::string(text.substr(colon + 1));
  std::error_code ignored;
  if (!count.ok() || *count < 2 || *count > most ||
      !std::filesystem::is_directory(folder, ignored)) {
    return Error{ErrorKind::usage, fmt::format("\"{}\" is not allowed; allowed: COUNT:FOLDER, a "
                                               "number from 2 to {} and an existing folder",
                                               text, most)};
  }
  return Barrier(*count, folder);
}

Status Barrier::arrive(std::size_t step) const {
  const std::filesystem::path file = folder_ / fmt::format("{}.{}", step, name_);
  if (!std::ofstream(file)) {
    return Error{ErrorKind::failed, fmt::format("cannot write {}", file.string())};
  }
  return {};
}

Status Barrier::wait(std::size_t step, const std::function<bool()>& stop_requested) const {
  const std::string prefix = fmt::format("{}.", step);
  const auto deadline = std::chrono::steady_clock::now() + patience;
  for (;;) {
    std::size_t there = 0;
    std::error_code error;  // of a file system that may answer the next time
    for (std::filesystem::directory_iterator at(folder_, error), end; !error && at != end;
         at.increment(error)) {
      if (at->path().filename().string().starts_with(prefix)) ++there;
    }
    if (there >= count_) return {};
    if (stop_requested()) return Error{ErrorKind::interrupted, "stopped at the barrier"};
    if (std::chrono::steady_clock::now() > deadline) {
      return Error{ErrorKind::failed,
                   fmt::format("only {} of {} processes reached the barrier {} within 2 minutes",
                               there, count_, folder_.string())};
    }
    std::this_thread::sleep_for(look_interval);
  }
}

}  // namespace assay

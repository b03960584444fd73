#include "core/file_lock.h"

#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sstream>
#include <thread>

#include "core/file_error.h"
#include "core/mutex.h"
#include "core/read_file.h"
#include "core/shown_text.h"

namespace assay {
namespace {

constexpr auto between_tries = std::chrono::milliseconds(10);
constexpr auto silence = std::chrono::seconds(1);

}  // namespace

std::function<void(const std::string&)>& lock_notice() {
  static std::function<void(const std::string&)> notice;
  return notice;
}

std::string lock_holder(int descriptor) {
  struct stat file = {};
  if (::fstat(descriptor, &file) != 0) return "another process";
  // "1: FLOCK  ADVISORY  WRITE 1234 fe:00:131 0 EOF"
  const std::string place =
      fmt::format("{:02x}:{:02x}:{}", major(file.st_dev), minor(file.st_dev), file.st_ino);
  std::istringstream lines(read_file("/proc/locks").value_or(""));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string number, kind, advisory, access, locked;
    long process = 0;
    words >> number >> kind >> advisory >> access >> process >> locked;
    // A process of another container has no number here.
    if (kind != "FLOCK" || locked != place || process <= 0) continue;
    const std::string name = read_file(fmt::format("/proc/{}/comm", process)).value_or("");
    constexpr std::size_t most_name = 32;
    return name.empty() ? fmt::format("process {}", process)
                        : fmt::format("process {} ({})", process,
                                      shown_line(name.substr(0, name.find('\n')), most_name));
  }
  return "another process";
}

Status lock_file(int descriptor, const std::filesystem::path& path,
                 std::chrono::milliseconds patience) {
  const auto begin = std::chrono::steady_clock::now();
  bool said = false;
  while (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) {
      return Error{kind_of_file_error(errno),
                   fmt::format("cannot lock {}: {}", path.string(), std::strerror(errno))};
    }
    const auto waited = std::chrono::steady_clock::now() - begin;
    if (waited > patience) {
      return Error{ErrorKind::file,
                   fmt::format("cannot write {}: {} has locked it for {:.0f} s; end that process, "
                               "or give another folder",
                               path.string(), lock_holder(descriptor),
                               std::chrono::duration<double>(patience).count())};
    }
    if (!said && waited > std::min<std::chrono::steady_clock::duration>(silence, patience / 2)) {
      said = true;
      static Mutex one_at_a_time;
      const MutexLock turn(one_at_a_time);
      if (lock_notice()) {
        lock_notice()(fmt::format("waiting for {}, which {} has locked", path.string(),
                                  lock_holder(descriptor)));
      }
    }
    std::this_thread::sleep_for(between_tries);
  }
  return {};
}

void unlock_file(int descriptor) {
  ::flock(descriptor, LOCK_UN);
}

}  // namespace assay

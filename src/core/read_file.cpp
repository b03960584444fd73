#include "core/read_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/descriptor.h"

namespace assay {
namespace {

/// Waits for a pipe's writer. True: there is data to read, or the end of the pipe.
bool wait_for_writer(int file) {
  constexpr int patience_ms = 60'000;
  pollfd waiting{file, POLLIN, 0};
  return ::poll(&waiting, 1, patience_ms) > 0;
}

}  // namespace

FileBytes read_bytes(const std::filesystem::path& path, std::size_t most) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status = {};
  if (file.number() < 0 || ::fstat(file.number(), &status) != 0) return {errno, {}};
  if (S_ISDIR(status.st_mode)) return {EISDIR, {}};
  if (!S_ISREG(status.st_mode) && !S_ISFIFO(status.st_mode)) return {ENOTSUP, {}};
  FileBytes result;
  char part[1 << 14];
  while (result.error == 0) {
    const ssize_t got = ::read(file.number(), part, sizeof(part));
    if (got == 0) return result;
    if (got > 0) {
      result.text.append(part, static_cast<std::size_t>(got));
      if (result.text.size() > most) result.error = EFBIG;
    } else if (errno == EAGAIN && S_ISFIFO(status.st_mode)) {
      if (!wait_for_writer(file.number())) result.error = ETIMEDOUT;
    } else if (errno != EINTR) {
      result.error = errno;
    }
  }
  result.text.clear();
  return result;
}

std::optional<std::string> read_file(const std::filesystem::path& path) {
  constexpr std::size_t most = std::size_t{4} << 30;
  FileBytes bytes = read_bytes(path, most);
  if (bytes.error != 0) return std::nullopt;
  return std::move(bytes.text);
}

Result<std::string> read_operand(const std::filesystem::path& path, std::size_t most) {
  FileBytes bytes = read_bytes(path, most);
  if (bytes.error == 0) return std::move(bytes.text);
  const std::string cause = bytes.error == EFBIG
                                ? fmt::format("it holds more than {} MiB", most >> 20)
                            : bytes.error == ENOTSUP ? "it is neither a file nor a pipe"
                                                     : std::strerror(bytes.error);
  return Error{ErrorKind::usage, fmt::format("cannot read {}: {}", path.string(), cause)};
}

}  // namespace assay

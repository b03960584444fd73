#include "ranks/launch/secret_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "core/descriptor.h"
#include "core/text.h"

namespace assay {

Result<std::string> check_secret(std::string secret, std::string_view source) {
  if (secret.size() >= least_secret) return secret;
  return Error{ErrorKind::usage,
               fmt::format("{} has {} characters, which could be guessed; allowed: at least {}, "
                           "e.g. of `openssl rand -hex 16`",
                           source, secret.size(), least_secret)};
}

Result<std::string> read_secret_file(const std::string& path) {
  const auto wrong = [&](const std::string& why) {
    return Error{ErrorKind::usage, fmt::format("ASSAY_TOKEN_FILE={}: {}", path, why)};
  };
  // Opening a pipe would block. The opened file is checked rather than the name, which may lead
  // elsewhere later.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status = {};
  if (!file.is_open() || ::fstat(file.number(), &status) != 0) return wrong(std::strerror(errno));
  if (!S_ISREG(status.st_mode)) return wrong("it is not a regular file");
  if (status.st_uid != ::geteuid()) {
    return wrong(
        fmt::format("it belongs to user {}, not to this one, {}", status.st_uid, ::geteuid()));
  }
  if ((status.st_mode & 077) != 0) {
    return wrong(fmt::format("others have rights to it (mode {:04o}); chmod 600 it",
                             status.st_mode & 07777));
  }
  std::array<char, 4097> text;
  const ssize_t got = ::read(file.number(), text.data(), text.size());
  if (got < 0) return wrong(std::strerror(errno));
  if (got == static_cast<ssize_t>(text.size())) return wrong("it is longer than 4096 bytes");
  return check_secret(std::string(trim({text.data(), static_cast<std::size_t>(got)})),
                      "ASSAY_TOKEN_FILE=" + path);
}

}  // namespace assay

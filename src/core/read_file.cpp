#include "core/read_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace assay {

std::optional<std::string> read_file(const std::filesystem::path& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  std::string text;
  char part[1 << 14];
  ssize_t got = 0;
  while ((got = ::read(file, part, sizeof(part))) > 0 || (got < 0 && errno == EINTR)) {
    if (got > 0) text.append(part, static_cast<std::size_t>(got));
  }
  ::close(file);
  if (got < 0) return std::nullopt;
  return text;
}

}  // namespace assay

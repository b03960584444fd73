// Used only in the released program. On a glibc older than the one that it was linked for, the
// program prints one line and ends, before it calls anything that is missing there. The dynamic
// linker's own message would list one version of symbols per line.
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "core/version.h"

namespace assay {
namespace {

constexpr int exit_nothing_ran = 4;  // src/cli/exit_code.h

/// Returns 2028 for "2.28".
int as_number(const char* version) {
  char* rest = nullptr;
  const long major = std::strtol(version, &rest, 10);
  const long minor = *rest == '.' ? std::strtol(rest + 1, nullptr, 10) : 0;
  return static_cast<int>(major * 1000 + minor);
}

/// Reads the value of PRETTY_NAME in /etc/os-release without its quotes; empty if unknown.
void read_system_name(char* name, std::size_t bytes) {
  name[0] = '\0';
  char text[4096];
  const int file = ::open("/etc/os-release", O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  const ssize_t length = ::read(file, text, sizeof text - 1);
  ::close(file);
  text[length > 0 ? length : 0] = '\0';
  const char* key = "PRETTY_NAME=";
  const char* begin = std::strstr(text, key);
  if (begin == nullptr) return;
  begin += std::strlen(key);
  if (*begin == '"') ++begin;
  std::size_t end = std::strcspn(begin, "\"\n");
  if (end > bytes - 1) end = bytes - 1;
  std::memcpy(name, begin, end);
  name[end] = '\0';
}

void refuse_older_glibc(int, char**, char**) {
  const char* version = ::gnu_get_libc_version();
  if (as_number(version) >= as_number(oldest_glibc().data())) return;
  char system[100], message[400];
  read_system_name(system, sizeof system);
  const int length = std::snprintf(
      message, sizeof message,
      "assay: needs glibc %s or newer (Ubuntu 20.04, Debian 11, RHEL 9 and later), and %s has %s; "
      "run it in a container or on a machine with a newer system\n",
      oldest_glibc().data(), system[0] != '\0' ? system : "this system", version);
  if (length > 0) (void)!::write(STDERR_FILENO, message, static_cast<std::size_t>(length));
  ::_exit(exit_nothing_ran);
}

// This runs before the constructors of this program and after those of glibc.
[[gnu::section(".preinit_array"),
  gnu::used]] void (*const before_all)(int, char**, char**) = &refuse_older_glibc;

}  // namespace
}  // namespace assay

#include <sys/random.h>

#include <cerrno>
#include <cstdlib>

#include "core/older_glibc/functions.h"

[[gnu::visibility("hidden")]] std::uint32_t assay_arc4random() {
  std::uint32_t bits = 0;
  // The kernel never returns fewer bytes than asked for if these are at most 256.
  while (::getrandom(&bits, sizeof bits, 0) != sizeof bits) {
    if (errno != EINTR) std::abort();
  }
  return bits;
}

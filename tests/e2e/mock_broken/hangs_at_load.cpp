// A library that never finishes loading.
#include <unistd.h>

namespace {

struct Hang {
  Hang() {
    for (;;) ::pause();
  }
};
const Hang hang;

}  // namespace

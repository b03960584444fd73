// A library that ends its process when it is loaded.
#include <csignal>

namespace {

struct Crash {
  Crash() { std::raise(SIGSEGV); }
};
const Crash crash;

}  // namespace

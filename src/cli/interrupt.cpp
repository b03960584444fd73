#include "cli/interrupt.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

#include "cli/exit_code.h"
#include "core/program.h"

namespace assay::cli {
namespace {

std::atomic<bool> requested{false};
std::atomic<long long> first_time{0};  // nanoseconds; 0 until the first signal
static_assert(std::atomic<long long>::is_always_lock_free, "used in a signal handler");

long long now() {
  timespec time = {};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
}

extern "C" void on_signal(int) {
  constexpr long long once_more = 500'000'000;
  long long none = 0;
  const long long moment = now();
  requested = true;
  if (first_time.compare_exchange_strong(none, moment) || moment - none < once_more) return;
  kill_programs();
  _exit(exit_interrupted);
}

}  // namespace

void ignore_write_signals() {
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
}

void catch_interrupts() {
  struct sigaction action = {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  struct sigaction before = {};
  sigaction(SIGHUP, nullptr, &before);
  if (before.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);  // nohup ignores it
}

bool interrupt_requested() {
  return requested.load(std::memory_order_relaxed);
}

}  // namespace assay::cli

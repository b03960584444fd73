// Restricts work to one CPU. On several CPUs that other programs use too, every kernel would wait
// until all of its threads have been scheduled.
#pragma once

#include <sched.h>

namespace assay {

/// Keeps the calling thread, and threads it starts, on the first CPU that it may use.
class OneCpu {
 public:
  OneCpu() {
    if (sched_getaffinity(0, sizeof(before_), &before_) != 0) return;
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (!CPU_ISSET(cpu, &before_)) continue;
      CPU_SET(cpu, &one);
      break;
    }
    sched_setaffinity(0, sizeof(one), &one);
  }
  ~OneCpu() { sched_setaffinity(0, sizeof(before_), &before_); }
  OneCpu(const OneCpu&) = delete;
  OneCpu& operator=(const OneCpu&) = delete;

 private:
  cpu_set_t before_ = {};
};

}  // namespace assay

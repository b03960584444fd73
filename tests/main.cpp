#include <gtest/gtest.h>

#include <cstdlib>

#include "compute/device/rtc_worker.h"
#include "sanitized.h"

int main(int argc, char** argv) {
  if (const auto status = assay::run_as_rtc_worker(argc, argv)) return *status;
  // The threads that share oneDNN's work meet at barriers of libgomp, which the thread sanitizer
  // does not see: what they write would seem to race with all that uses it before and after. With
  // one thread, all of it is the calling thread's. libgomp reads this once oneDNN is loaded.
  if (assay::is_thread_sanitized) ::setenv("OMP_NUM_THREADS", "1", 1);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}

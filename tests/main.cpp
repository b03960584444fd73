#include <gtest/gtest.h>

#include <cstdlib>

#include "compute/device/rtc_worker.h"
#include "support/sanitized.h"

#if ASSAY_THREAD_SANITIZED
// oneDNN makes what its threads share once, behind a check that is not built with the thread
// sanitizer: the thread that made it seems to race with the next one that asks for it. The name is
// the sanitizer's.
// NOLINTNEXTLINE(bugprone-reserved-identifier)
extern "C" const char* __tsan_default_suppressions() {
  return "race:libdnnl.so\n";
}
#endif

int main(int argc, char** argv) {
  if (const auto status = assay::run_as_rtc_worker(argc, argv)) return *status;
  // The threads that share oneDNN's work synchronise at barriers of libgomp, which the thread
  // sanitizer does not see: what they write would seem to race with all that uses it before and
  // after. With one thread, all of it is the calling thread's. libgomp reads this once oneDNN is
  // loaded.
  if (assay::is_thread_sanitized) ::setenv("OMP_NUM_THREADS", "1", 1);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}

#include "core/watchdog.h"

#include <gtest/gtest.h>

#include <future>

namespace assay {
namespace {

using namespace std::chrono_literals;

TEST(Watchdog, TellsOfSilenceOnce) {
  std::promise<void> told;
  std::atomic<int> times = 0;
  const Watchdog watchdog(0.01, [&] {
    if (++times == 1) told.set_value();
  });
  ASSERT_EQ(told.get_future().wait_for(60s), std::future_status::ready);
  std::this_thread::sleep_for(50ms);
  EXPECT_EQ(times, 1);
}

TEST(Watchdog, ProgressPutsItOff) {
  using Steady = std::chrono::steady_clock;
  for (int attempt = 0; attempt < 100; ++attempt) {
    std::promise<Steady::time_point> told;
    const Steady::time_point begun = Steady::now();
    Watchdog watchdog(0.2, [&] { told.set_value(Steady::now()); });
    std::this_thread::sleep_for(50ms);
    const Steady::time_point progressed = Steady::now();
    watchdog.progress();
    const bool in_time = Steady::now() - begun < 200ms;
    auto silence = told.get_future();
    ASSERT_EQ(silence.wait_for(60s), std::future_status::ready);
    if (!in_time) continue;  // on a busy machine the sleep may last longer than its patience
    EXPECT_GE(silence.get() - progressed, 200ms);
    return;
  }
  FAIL() << "this thread slept 200 ms instead of 50 ms a hundred times";
}

TEST(Watchdog, IsSilentIfItEndsBeforeItsTime) {
  bool told = false;
  {
    const Watchdog watchdog(3600, [&] { told = true; });
  }
  EXPECT_FALSE(told);
}

}  // namespace
}  // namespace assay

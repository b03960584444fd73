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
  std::promise<std::chrono::steady_clock::time_point> told;
  Watchdog watchdog(0.2, [&] { told.set_value(std::chrono::steady_clock::now()); });
  std::this_thread::sleep_for(50ms);
  const auto progressed = std::chrono::steady_clock::now();
  watchdog.progress();
  auto silence = told.get_future();
  ASSERT_EQ(silence.wait_for(60s), std::future_status::ready);
  EXPECT_GE(silence.get() - progressed, 200ms);
}

TEST(Watchdog, EndsWithoutAWordBeforeItsTime) {
  bool told = false;
  {
    const Watchdog watchdog(3600, [&] { told = true; });
  }
  EXPECT_FALSE(told);
}

}  // namespace
}  // namespace assay

#include "compute/choice/fastest.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>

#include "test_device.h"

namespace assay {
namespace {

using std::chrono::microseconds;

class Fastest : public testing::Test {
 protected:
  void SetUp() override {
    device_ = open_test_device("cpu");
    stream_ = std::move(device_->create_stream()).value();
  }

  /// Busy for about `duration`, counting its runs.
  Contender busy(microseconds duration, std::atomic<int>* runs = nullptr) {
    return [duration, runs](Stream& stream) {
      return stream.call([duration, runs] {
        const auto end = std::chrono::steady_clock::now() + duration;
        while (std::chrono::steady_clock::now() < end) {
        }
        if (runs != nullptr) ++*runs;
      });
    };
  }
  static Contender failing() {
    return [](Stream&) -> Status { return Error{ErrorKind::unsupported, "cannot"}; };
  }

  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
};

TEST_F(Fastest, TheFastestWins) {
  const auto result =
      find_fastest(*device_, *stream_,
                   {busy(microseconds(900)), busy(microseconds(300)), busy(microseconds(600))});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->fastest, 1u);
  EXPECT_EQ(result->tried, 3u);
  EXPECT_GE(result->seconds, 300e-6);
}

TEST_F(Fastest, TheFinalDecidesAmongThoseTheScreeningKeeps) {
  ContestLimits limits;
  limits.screening_margin = 100;
  const auto result = find_fastest(
      *device_, *stream_,
      {busy(microseconds(900)), busy(microseconds(600)), busy(microseconds(300))}, limits);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->fastest, 2u);
}

TEST_F(Fastest, ThoseThatDoNotRunAreLeftOut) {
  const auto result =
      find_fastest(*device_, *stream_, {failing(), busy(microseconds(200)), failing()});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->fastest, 1u);
  EXPECT_EQ(result->tried, 1u);
}

TEST_F(Fastest, NoneRuns) {
  const auto result = find_fastest(*device_, *stream_, {failing(), failing()});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "cannot");
}

TEST_F(Fastest, TheSlowAreMeasuredInTheScreeningOnly) {
  std::atomic<int> slow_runs = 0;
  ContestLimits limits;
  limits.screening_rounds = 2;
  const auto result = find_fastest(
      *device_, *stream_,
      {busy(microseconds(20000), &slow_runs), busy(microseconds(500)), busy(microseconds(500))},
      limits);
  ASSERT_TRUE(result);
  EXPECT_NE(result->fastest, 0u);
  EXPECT_EQ(slow_runs, 1 + 2);
}

}  // namespace
}  // namespace assay

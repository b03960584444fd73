#include "compute/choice/fastest.h"

#include <gtest/gtest.h>

#include "test_device.h"

namespace assay {
namespace {

class Fastest : public testing::Test {
 protected:
  void SetUp() override {
    device_ = open_fake_device("noise=0,launch=1e-4");
    stream_ = std::move(device_->create_stream()).value();
    program_ = std::move(device_->build({"empty", {}})).value();
    kernel_ = program_->kernel("empty").value();
  }

  /// Takes `launches` tenths of a millisecond of the device's time, counting its runs.
  Contender busy(int launches, int* runs = nullptr) {
    return [this, launches, runs](Stream& stream) -> Status {
      if (runs != nullptr) ++*runs;
      for (int i = 0; i < launches; ++i) TRY(launch(stream, *kernel_, {}, 0));
      return {};
    };
  }
  static Contender failing() {
    return [](Stream&) -> Status { return Error{ErrorKind::unsupported, "cannot"}; };
  }

  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Program> program_;
  Kernel* kernel_ = nullptr;
};

TEST_F(Fastest, TheFastestWins) {
  const auto result = find_fastest(*device_, *stream_, {busy(9), busy(3), busy(6)});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->fastest, 1u);
  EXPECT_EQ(result->tried, 3u);
  EXPECT_NEAR(result->seconds, 3e-4, 1e-9);
}

TEST_F(Fastest, TheFinalDecidesAmongThoseTheScreeningKeeps) {
  ContestLimits limits;
  limits.screening_margin = 100;
  const auto result = find_fastest(*device_, *stream_, {busy(9), busy(6), busy(3)}, limits);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->fastest, 2u);
}

TEST_F(Fastest, ThoseThatDoNotRunAreLeftOut) {
  const auto result = find_fastest(*device_, *stream_, {failing(), busy(2), failing()});
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
  int slow_runs = 0;
  ContestLimits limits;
  limits.screening_rounds = 2;
  const auto result =
      find_fastest(*device_, *stream_, {busy(200, &slow_runs), busy(5), busy(5)}, limits);
  ASSERT_TRUE(result);
  EXPECT_NE(result->fastest, 0u);
  EXPECT_EQ(slow_runs, 1 + 2);
}

}  // namespace
}  // namespace assay

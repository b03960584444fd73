#include "compute/autotune/contest.h"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "compute/autotune/choose_variant.h"
#include "support/temporary_folder.h"
#include "support/test_device.h"

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

/// It ends at any run: while contenders warm up, are screened, or run in the final.
TEST_F(Fastest, EndsWhenItIsAskedTo) {
  int asked = 0;
  ContestLimits limits;
  limits.stop_requested = [&] { return ++asked < 0; };
  ASSERT_TRUE(find_fastest(*device_, *stream_, {busy(9), busy(9)}, limits).ok());
  const int all = asked;
  EXPECT_EQ(all, 2 * (1 + limits.screening_rounds + limits.final_rounds));
  for (int last = 1; last <= all; ++last) {
    asked = 0;
    limits.stop_requested = [&] { return ++asked == last; };
    const auto result = find_fastest(*device_, *stream_, {busy(9), busy(9)}, limits);
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().kind, ErrorKind::interrupted);
    EXPECT_EQ(asked, last);
  }
}

TEST_F(Fastest, TheFinalDecidesAmongThoseTheScreeningKeeps) {
  ContestLimits limits;
  limits.screening_margin = 100;
  const auto result = find_fastest(*device_, *stream_, {busy(9), busy(6), busy(3)}, limits);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->fastest, 2u);
}

TEST_F(Fastest, TheFirstStaysUnlessAnotherIsMuchFaster) {
  ContestLimits limits = {.most_finalists = 1, .least_gain = 0.2};
  const auto fastest = [&](const std::vector<Contender>& contenders) {
    return find_fastest(*device_, *stream_, contenders, limits).value().fastest;
  };
  EXPECT_EQ(fastest({busy(10), busy(20), busy(9)}), 0u);
  EXPECT_EQ(fastest({busy(10), busy(20), busy(7)}), 2u);
  EXPECT_EQ(fastest({failing(), busy(20), busy(19)}), 2u);
  limits.least_gain = 0;
  EXPECT_EQ(fastest({busy(10), busy(20), busy(9)}), 2u);
}

/// Other programs take the CPU away from most of the faster one's rounds.
TEST(FastestOnACpu, TheBestTimeCounts) {
  const auto device = open_test_device("cpu");
  const auto stream = std::move(device->create_stream()).value();
  const auto sleeping = [](const std::function<double()>& milliseconds) -> Contender {
    return [milliseconds](Stream& on) {
      return on.call([milliseconds] {
        std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(milliseconds()));
      });
    };
  };
  int runs = 0;
  const auto disturbed = [&] { return runs++ % 3 == 0 ? 1.0 : 300.0; };
  // One run a round, behind one that is not timed.
  const ContestLimits limits = {.screening_margin = 1000, .final_seconds = 1e-3};
  const auto result =
      find_fastest(*device, *stream, {sleeping([] { return 100.0; }), sleeping(disturbed)}, limits);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->fastest, 1u);
  EXPECT_GT(result->seconds, 0.1);
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

/// If there are few contenders, only the hopeless ones are left out.
TEST_F(Fastest, FewAllMeetInTheFinal) {
  for (const bool few : {true, false}) {
    int runs = 0;
    std::vector<Contender> contenders = {busy(10), busy(15, &runs)};
    ContestLimits limits;
    if (!few) limits.most_finalists = 1;
    ASSERT_TRUE(find_fastest(*device_, *stream_, contenders, limits));
    EXPECT_EQ(runs > 1 + limits.screening_rounds, few);
  }
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

/// Ways of one to three units of time, of which those in `broken` cannot be prepared.
class FastestWay : public Fastest {
 protected:
  Result<std::size_t> choose(const std::vector<int>& units, const std::set<int>& broken = {}) {
    std::vector<NamedWay> ways;
    prepared_.clear();
    runs_ = 0;
    for (const int u : units) {
      const auto prepare = [this, u, broken]() -> Status {
        if (broken.contains(u)) return Error{ErrorKind::unsupported, "no registers"};
        prepared_.push_back(u);
        return {};
      };
      ways.push_back({std::to_string(u) + " units", prepare, busy(u, &runs_)});
    }
    return choose_variant(*device_, *stream_, choices_, {"way", "1.0", "work"}, ways, {});
  }

  TemporaryFolder folder_;
  ChoiceCache choices_{folder_.path()};
  std::vector<int> prepared_;
  int runs_ = 0;
};

TEST_F(FastestWay, IsMeasuredOnceAndRemembered) {
  EXPECT_EQ(choose({3, 1, 2}).value(), 1u);
  EXPECT_GT(runs_, 0);
  EXPECT_EQ(choose({2, 3, 1}).value(), 2u);  // by its name
  EXPECT_EQ(runs_, 0);
  EXPECT_EQ(prepared_, std::vector<int>{1});
}

TEST_F(FastestWay, WhatCannotBePreparedTakesNoPart) {
  EXPECT_EQ(choose({1, 3, 2}, {1}).value(), 2u);
  EXPECT_EQ(choose({1, 3, 2}).value(), 2u);
  EXPECT_EQ(choose({1, 3, 2}, {2}).value(), 0u);  // what was remembered is not to be had
  const auto none = choose({1, 2}, {1, 2});
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().message, "no registers");
}

}  // namespace
}  // namespace assay

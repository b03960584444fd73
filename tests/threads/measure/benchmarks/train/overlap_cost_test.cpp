// How much operations between ranks and passes slow each other down, measured where the answer is
// known or nothing can be measured.
#include "measure/benchmarks/train/overlap_cost.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "support/slow_communicator.h"
#include "support/training_example.h"
#include "support/training_ranks.h"

namespace assay {
namespace {

/// A rank without memory for the operation that repeats: no rank waits for it, and all
/// continue without factors.
TEST(OverlapCost, WithoutMemoryNothingIsCalibrated) {
  std::array<TrainOverlap, 2> overlaps;
  on_ranks(2, [&](int rank, Device& device, Stream& stream, TrainingRanks ranks) -> Status {
    TransformerSettings own = two_ranks_training(Sharding::none, 1);
    own.ranks = ranks;
    auto training =
        TRY(TransformerTraining::create(device, stream, own, random_batches(own.plan, 9, 5)));
    TRY(training->step(stream));
    const Buffer values = TRY(device.allocate(16 * sizeof(float), MemoryKind::device));
    const std::size_t count = rank == 1 ? std::size_t{1} << 50 : 16;
    const ExchangeTimes times = {.passes = 1e9, .alone = 1, .bus_bytes = 1e12};
    overlaps[static_cast<std::size_t>(rank)] =
        TRY(measure_overlap(*training, device, stream, ranks, false, times,
                            {CollectiveCall{.send = values.data(), .count = count}}));
    return {};
  });
  for (const TrainOverlap& overlap : overlaps) {
    EXPECT_FALSE(overlap.calibrated());
    EXPECT_GT(overlap.calls.size(), 4u);
  }
  EXPECT_EQ(overlaps[0].why_not, "");
  EXPECT_THAT(overlaps[1].why_not, testing::HasSubstr("host memory"));
}

/// Four sums of one element are over long before the passes are.
TEST(OverlapCost, PassesThatNothingCoversHaveNoFactor) {
  constexpr int attempts = 12;  // what else runs here may slow these sums down
  TrainOverlap overlap;
  const auto says_so = [&] {
    return overlap.why_not.find("operations between ranks ended before them, ") !=
           std::string::npos;
  };
  for (int i = 0; i < attempts && !says_so(); ++i) {
    on_ranks(2, [&](int rank, Device& device, Stream& stream, TrainingRanks ranks) -> Status {
      TransformerSettings own = two_ranks_training(Sharding::none, 1);
      own.plan.batch = 24;
      own.ranks = ranks;
      auto training =
          TRY(TransformerTraining::create(device, stream, own, random_batches(own.plan, 9, 5)));
      TRY(training->step(stream));
      const Buffer values = TRY(device.allocate(16 * sizeof(float), MemoryKind::device));
      const ExchangeTimes times = {.passes = 1e-9, .alone = 1, .bus_bytes = 1};
      TrainOverlap measured =
          TRY(measure_overlap(*training, device, stream, ranks, false, times,
                              {CollectiveCall{.send = values.data(), .count = 16}}));
      if (rank == 0) overlap = std::move(measured);
      return {};
    });
  }
  EXPECT_FALSE(overlap.calibrated());
  EXPECT_TRUE(says_so()) << overlap.why_not;
}

/// Seven operations are one launch, and each of them takes a seventh of it.
TEST(OverlapCost, OperationsOfALaunchCountOneByOne) {
  constexpr int attempts = 12;  // what else runs here may slow operations beside passes down
  TrainOverlap overlap;
  const auto slower = [&] { return overlap.calibrated() ? overlap.kinds.front().exchange : 0; };
  const auto is_right = [&] { return slower() > 0.4 && slower() < 2.5; };
  for (int i = 0; i < attempts && !is_right(); ++i) {
    on_ranks(2, [&](int rank, Device& device, Stream& stream, TrainingRanks ranks) -> Status {
      TransformerSettings own = two_ranks_training(Sharding::none, 1);
      own.plan.batch = 48;
      own.ranks = ranks;
      auto training =
          TRY(TransformerTraining::create(device, stream, own, random_batches(own.plan, 9, 5)));
      auto stopwatch = TRY(RankStopwatch::create(device, stream, ranks));
      TRY(training->step(stream));
      const double own_step = TRY(stopwatch.time([&] { return training->step(stream); }));
      const double step = TRY(stopwatch.sum(static_cast<float>(own_step))) / 2.0;
      SlowCommunicator slow(*ranks.communicator, step / 100);
      const Buffer values = TRY(device.allocate(16 * sizeof(float), MemoryKind::device));
      const ExchangeTimes times = {.passes = step, .alone = 1, .bus_bytes = 1};
      TrainOverlap measured =
          TRY(measure_overlap(*training, device, stream, {&slow, ranks.team}, true, times,
                              {CollectiveCall{.send = values.data(), .count = 16}}));
      if (rank == 0) overlap = std::move(measured);
      return {};
    });
  }
  EXPECT_TRUE(is_right()) << overlap.why_not << " " << slower();
}

}  // namespace
}  // namespace assay

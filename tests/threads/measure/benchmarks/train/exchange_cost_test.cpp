// The cost of exchanging gradients between ranks, measured where a slow communicator makes the
// answer known.
#include "measure/benchmarks/train/exchange_cost.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <map>
#include <thread>

#include "support/slow_communicator.h"
#include "support/training_example.h"
#include "support/training_ranks.h"

namespace assay {
namespace {

ExchangeTimes measure(const TransformerSettings& settings, double seconds, bool replayed) {
  std::array<ExchangeTimes, 2> times;
  on_ranks(2, [&](int rank, Device& device, Stream& stream, TrainingRanks ranks) -> Status {
    SlowCommunicator slow(*ranks.communicator, seconds);
    TransformerSettings own = settings;
    own.ranks = {&slow, ranks.team};
    const TokenBatches batches = random_batches(settings.plan, 9, 5);
    auto training = TRY(TransformerTraining::create(device, stream, own, batches));
    TRY(training->step(stream));
    times[static_cast<std::size_t>(rank)] =
        TRY(measure_exchange(*training, device, stream, own.ranks, replayed));
    return {};
  });
  return of_all_ranks({to_text(times[0]), to_text(times[1])}).value();
}

/// A rank whose weights differ in one bit is found, whoever it is.
TEST(TrainExchange, OtherWeightsOnARankAreFound) {
  for (const int wrong : {-1, 1, 0}) {
    on_ranks(2, [&](int rank, Device& device, Stream& stream, TrainingRanks ranks) -> Status {
      TransformerSettings own = two_ranks_training(Sharding::none, 1 << 30);
      own.ranks = ranks;
      const TokenBatches batches = random_batches(own.plan, 1, 5);
      auto training = TRY(TransformerTraining::create(device, stream, own, batches));
      std::vector<float> weights = random_weights(own.plan.shape, 3);
      weights.resize(training->arenas().elements());
      if (rank == wrong) weights[1000] = std::nextafter(weights[1000], 10.0f);
      TRY(training->restart(stream, weights));
      const Status same = compare_weights(training.get(), stream, *ranks.team, 2);
      EXPECT_EQ(same.ok(), wrong < 0);
      if (!same.ok()) {
        EXPECT_EQ(same.error().kind, ErrorKind::verification);
        EXPECT_NE(same.error().message.find("after step 0"), std::string::npos)
            << same.error().message;
      }
      return {};
    });
  }
}

/// A rank that read another file is named, on all ranks.
TEST(TrainExchange, OtherTokensOnARankAreFound) {
  for (const bool same : {true, false}) {
    on_ranks(2, [&](int rank, Device& device, Stream& stream, TrainingRanks ranks) -> Status {
      TransformerSettings own = two_ranks_training(Sharding::none, 1 << 30);
      own.ranks = ranks;
      const std::uint64_t seed = same || rank == 0 ? 5 : 6;
      auto training =
          TRY(TransformerTraining::create(device, stream, own, random_batches(own.plan, 2, seed)));
      const Status compared = compare_files(training->data_hash(), *ranks.team, 2, "data", "/text");
      EXPECT_EQ(compared.ok(), same);
      if (!compared.ok()) {
        EXPECT_EQ(compared.error().kind, ErrorKind::usage);
        EXPECT_THAT(
            compared.error().message,
            testing::MatchesRegex("data=/text: rank 1 on .+ read something else than rank 0 "
                                  "on .+; give every rank the same"));
      }
      return {};
    });
  }
}

/// One all-reduce of everything follows the backward pass, so that all of it is waited for.
TEST(TrainExchange, NothingHidesOneSumAtTheEnd) {
  constexpr double seconds = 0.3;
  // What else runs here may lengthen the passes alone and with the exchange differently; what is
  // hidden by the code is hidden every time.
  constexpr int attempts = 12;
  for (const bool replayed : {false, true}) {
    ExchangeTimes times;
    TransformerSettings settings = two_ranks_training(Sharding::none, 1 << 30);
    settings.plan.batch = 9;  // with this many tokens, looked-up rows are not sent by themselves
    const auto is_waited_for = [&] {
      for (const double measured : {times.exposed(), times.alone}) {
        if (measured < 0.95 * seconds || measured > 2 * seconds) return false;
      }
      return true;
    };
    for (int attempt = 0; attempt == 0 || (!is_waited_for() && attempt < attempts); ++attempt) {
      times = measure(settings, seconds, replayed);
    }
    EXPECT_TRUE(is_waited_for()) << times.exposed() << " s exposed, " << times.alone << " s alone";
  }
}

/// Many buckets: each is late by itself, so that what is added up alone takes as long as all of
/// them, and what the passes hide is no more than the passes.
TEST(TrainExchange, ManyOperationsAddUp) {
  constexpr double seconds = 0.02;
  const TransformerSettings settings = two_ranks_training(Sharding::none, 1);
  const ExchangeTimes times = measure(settings, seconds, false);
  constexpr double sections = 4;  // three layers, and what is outside of them
  EXPECT_GT(times.alone, sections * seconds);
  EXPECT_GE(times.exposed(), times.alone - times.passes - 0.5 * seconds);
}

/// Bytes on the bus by the formulas of nccl-tests, of two ranks: 2 (n-1)/n = 1 for all-reduce, 1/2
/// for each of reduce-scatter and all-gather; fsdp gathers layers once more for the backward pass.
TEST(TrainExchange, CountsBytesOnTheBus) {
  const auto bytes = [](Sharding sharding) {
    return measure(two_ranks_training(sharding, 1), 0, false).bus_bytes;
  };
  const double ddp = bytes(Sharding::none), zero1 = bytes(Sharding::optimizer),
               fsdp = bytes(Sharding::parameters);
  TransformerPlan plan = two_ranks_training(Sharding::none, 1).plan;
  const double parameters = plan.shape.parameters() * sizeof(float);
  EXPECT_GT(ddp, parameters);
  EXPECT_LT(ddp, parameters * 1.1);  // gaps between tensors
  EXPECT_NEAR(zero1, ddp, 0.02 * ddp);
  EXPECT_GT(fsdp, zero1 * 1.1);
  EXPECT_LT(fsdp, zero1 * 1.5);
}

/// The simulation of a measured step takes as long as the step did, for each parallelism, with a
/// communicator so slow that it decides. More ranks only add what the model says.
TEST(TrainExchange, ASimulationTakesAsLongAsTheSteps) {
  constexpr double seconds = 0.03;
  // What else runs here may lengthen the steps that are measured, or those the simulation is made
  // of; a schedule that is wrong is wrong every time.
  constexpr int attempts = 12;
  for (const Sharding sharding : {Sharding::none, Sharding::optimizer, Sharding::parameters}) {
    const TransformerSettings settings = two_ranks_training(sharding, 1);
    std::map<int, double> simulated;
    ExchangeTimes times;
    const auto measure_and_simulate = [&] {
      on_ranks(2, [&](int rank, Device& device, Stream& stream, TrainingRanks ranks) -> Status {
        SlowCommunicator slow(*ranks.communicator, seconds);
        TransformerSettings own = settings;
        own.ranks = {&slow, ranks.team};
        const TokenBatches batches = random_batches(settings.plan, 9, 5);
        auto training = TRY(TransformerTraining::create(device, stream, own, batches));
        TRY(training->step(stream));
        const auto measured = TRY(measure_exchange(*training, device, stream, own.ranks, false));
        const auto texts = TRY(ranks.team->exchange("the times", to_text(measured)));
        const ExchangeTimes all = TRY(of_all_ranks(texts));
        auto steps = TRY(simulate_steps(*training, device, stream, own.ranks, false, measured, all,
                                        {2, 8, 1024}));
        if (rank == 0) {
          times = all;
          simulated = std::move(steps.seconds);
        }
        return {};
      });
    };
    for (int i = 0; i < attempts && !(std::abs(simulated[2] / times.step - 1) < 0.25); ++i) {
      measure_and_simulate();
    }
    EXPECT_NEAR(simulated[2] / times.step, 1, 0.25) << static_cast<int>(sharding);
    EXPECT_GT(simulated[8], simulated[2] + seconds);
    EXPECT_GT(simulated[1024], simulated[8] + seconds);
  }
}

/// Passes of 100 s and one sum of 10 s, which comes last.
TEST(TrainExchange, ASimulationTakesWhatStepsInARowTake) {
  std::map<int, double> simulated;
  on_ranks(2, [&](int rank, Device& device, Stream& stream, TrainingRanks ranks) -> Status {
    TransformerSettings own = two_ranks_training(Sharding::none, 1 << 30);
    own.plan.batch = 9;  // with this many tokens, looked-up rows are not sent by themselves
    own.ranks = ranks;
    auto training =
        TRY(TransformerTraining::create(device, stream, own, random_batches(own.plan, 9, 5)));
    TRY(training->step(stream));
    const ExchangeTimes mine = {.passes = 100},
                        all = {.passes = 1e-3, .alone = 10, .bus_bytes = 1e6};
    auto steps = TRY(simulate_steps(*training, device, stream, ranks, false, mine, all, {2}));
    if (rank == 0) simulated = std::move(steps.seconds);
    return {};
  });
  EXPECT_NEAR(simulated[2], 110, 0.1);
}

/// Steps of 20 ms, which no busy machine's passes of 1 ms reach, repeated for 100 ms: one row that
/// does not count and two that do, of as many on both ranks, each after a quarter as many; two
/// before them.
TEST(TrainExchange, WorkThatGoesOnIsTimedInRows) {
  std::array<int, 2> steps{}, passes{};
  std::array<ExchangeTimes, 2> times;
  const auto measured = [&](int rank, Device& device, Stream& stream,
                            TrainingRanks ranks) -> Status {
    const auto at = static_cast<std::size_t>(rank);
    const auto sleeping = [&stream](int milliseconds, int* count) {
      return [&stream, milliseconds, count]() -> Status {
        if (count != nullptr) ++*count;
        return stream.call(
            [=] { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); });
      };
    };
    times[at] = TRY(measure_exchange({.step = sleeping(20, &steps[at]),
                                      .passes = sleeping(1, &passes[at]),
                                      .alone = sleeping(1, nullptr),
                                      .exchanged = [] { return std::vector<CollectiveCall>(); },
                                      .goes_on = 0.1},
                                     device, stream, ranks, false));
    return {};
  };
  const auto are_shorter = [&] {
    return times[0].passes < times[0].step && times[1].passes < times[1].step;
  };
  constexpr int attempts = 12;  // other programs lengthen passes now and then, wrong code always
  for (int attempt = 0; attempt == 0 || (!are_shorter() && attempt < attempts); ++attempt) {
    steps = passes = {};
    on_ranks(2, measured);
  }
  for (const std::size_t rank : {0u, 1u}) {
    EXPECT_GE(times[rank].step, 0.02);
    EXPECT_GE(times[rank].passes, 0.001);
    EXPECT_LT(times[rank].passes, times[rank].step);
    const int with_more = (steps[rank] - 2) / 3;
    int in_a_row = 2;
    while (in_a_row + (in_a_row + 3) / 4 < with_more) ++in_a_row;
    EXPECT_LE(in_a_row, 5);
    EXPECT_EQ(steps[rank], 2 + 3 * (in_a_row + (in_a_row + 3) / 4));
    EXPECT_EQ(passes[rank], steps[rank] - 1);
  }
  EXPECT_EQ(steps[0], steps[1]);
}

/// Tells how many waits have ended.
class CountingTeam final : public Team {
 public:
  explicit CountingTeam(Team& other) : other_(other) {}
  int rank() const override { return other_.rank(); }
  const std::string& secret() const override { return other_.secret(); }
  const std::vector<TeamMember>& members() const override { return other_.members(); }
  Result<std::vector<std::string>> exchange(std::string_view step, std::string mine) override {
    return other_.exchange(step, std::move(mine));
  }
  Status check_alive() override { return other_.check_alive(); }
  void end_wait() override { ++ended; }

  int ended = 0;

 private:
  Team& other_;
};

/// What comes after a wait takes long, as a graph does that the host is long in launching.
TEST(TrainExchange, TheFirstOfARowIsNotTimed) {
  std::array<ExchangeTimes, 2> times;
  const auto measured = [&](int rank, Device& device, Stream& stream,
                            TrainingRanks ranks) -> Status {
    CountingTeam team(*ranks.team);
    int known = -1;
    const auto work = [&]() -> Status {
      const bool is_first = std::exchange(known, team.ended) != team.ended;
      return stream.call(
          [=] { std::this_thread::sleep_for(std::chrono::milliseconds(is_first ? 150 : 1)); });
    };
    const auto none = [] { return std::vector<CollectiveCall>(); };
    times[static_cast<std::size_t>(rank)] = TRY(measure_exchange(
        {.step = work, .passes = work, .alone = work, .exchanged = none, .goes_on = 1e-3}, device,
        stream, {ranks.communicator, &team}, false));
    return {};
  };
  const auto longest = [&] {
    double seconds = 0;
    for (const ExchangeTimes& of : times) {
      seconds = std::max({seconds, of.step, of.passes, of.alone});
    }
    return seconds;
  };
  constexpr int attempts = 12;   // other programs lengthen them now and then, wrong code always
  constexpr double most = 0.06;  // of two in a row
  for (int attempt = 0; attempt == 0 || (longest() >= most && attempt < attempts); ++attempt) {
    on_ranks(2, measured);
  }
  EXPECT_LT(longest(), most);
}

/// However many steps are timed in a row: each is a wait with a deadline of its own.
TEST(TrainExchange, EachTimedStepIsAWaitOfItsOwn) {
  on_ranks(2, [](int, Device& device, Stream& stream, TrainingRanks ranks) -> Status {
    CountingTeam team(*ranks.team);
    auto stopwatch = TRY(RankStopwatch::create(device, stream, {ranks.communicator, &team}));
    for (int i = 1; i <= 3; ++i) {
      TRY(stopwatch.time([] { return Status(); }));
      EXPECT_GE(team.ended, i);
    }
    EXPECT_EQ(TRY(stopwatch.sum(static_cast<float>(1 + ranks.team->rank()))), 3);
    return {};
  });
}

/// Sums of sums of the exchange alone are infinite in f16, and no passes may begin with them.
TEST(TrainExchange, UpdatesOfF16AreNotLeftOutWhileItIsCalibrated) {
  on_ranks(2, [](int, Device& device, Stream& stream, TrainingRanks ranks) -> Status {
    TransformerSettings own = small_training(DataType::f16);
    own.plan.parallel.ranks = 2;
    own.loss_scaling.initial = 256;
    own.ranks = ranks;
    auto training =
        TRY(TransformerTraining::create(device, stream, own, random_batches(own.plan, 9, 5)));
    TRY(training->step(stream));
    const ExchangeTimes times = {.passes = 1e-3, .alone = 1e-3, .bus_bytes = 1e6};
    TRY(simulate_steps(*training, device, stream, ranks, false, times, times, {2}));
    EXPECT_EQ(TRY(training->state(stream)).skipped, 0u);
    return {};
  });
}

TEST(TrainExchange, OfAllRanks) {
  ExchangeTimes slow = {.step = 3.2, .passes = 2.5, .alone = 1.1, .bus_bytes = 7};
  ExchangeTimes fast = {.step = 3.0, .passes = 2.0, .alone = 1.0, .bus_bytes = 7};
  slow.lowest_clock = slow.highest_clock = 1e9;
  fast.lowest_clock = fast.highest_clock = 2e9;
  const ExchangeTimes all = of_all_ranks({to_text(slow), to_text(fast), ""}).value();
  EXPECT_EQ(all.step, 3.0);  // it ended on both at once, and began there last
  EXPECT_EQ(all.passes, 2.5);
  EXPECT_EQ(all.alone, 1.0);
  EXPECT_EQ(all.bus_bytes, 7);
  EXPECT_DOUBLE_EQ(all.skew, 0.25);
  EXPECT_EQ(all.lowest_clock, 1e9);
  EXPECT_EQ(all.highest_clock, 2e9);
  EXPECT_FALSE(of_all_ranks({to_text(slow), "short"}).ok());
}

/// The steps of the rank that the others wait for, with its factors.
TEST(TrainExchange, TheSlowestRankIsSimulated) {
  const SimulatedSteps fast = {{{2, 1.0}, {8, 9.0}}, 1.1, 1.2},
                       slow = {{{2, 1.5}, {8, 2.0}}, 1.3, 1.4};
  EXPECT_EQ((ExchangeCosts{{}, fast}.note()), std::nullopt);
  const SimulatedSteps found = of_slowest_rank({to_text(fast), to_text(slow), ""}, 2).value();
  EXPECT_EQ(found.seconds, slow.seconds);
  EXPECT_EQ(found.slower_passes, 1.3);
  EXPECT_EQ(found.slower_exchange, 1.4);
  EXPECT_FALSE(of_slowest_rank({to_text(fast), "short"}, 2).ok());
  EXPECT_FALSE(of_slowest_rank({to_text(fast)}, 4).ok());
}

/// Nothing is claimed of factors that were not measured; the reason is another rank's.
TEST(TrainExchange, ASimulationWithoutFactorsSaysWhy) {
  const SimulatedSteps here = {{{2, 1.5}}, 1, 1, false, ""},
                       there = {{{2, 1.0}}, 1, 1, false, "no memory"};
  const ExchangeCosts costs = {{}, of_slowest_rank({to_text(here), to_text(there)}, 2).value()};
  EXPECT_EQ(costs.note(), "not calibrated: rank 1: no memory");
  const std::vector<Metric> metrics = costs.metrics();
  EXPECT_FALSE(std::ranges::any_of(
      metrics, [](const Metric& metric) { return metric.name.ends_with("slowed_by_exchange"); }));
}

}  // namespace
}  // namespace assay

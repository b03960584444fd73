// Sizes of buckets, timed where every operation takes as long, so that the fewest are the fastest.
#include "measure/benchmarks/train/train_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "measure/benchmarks/train/train_cell.h"
#include "ranks/collective/communicators.h"
#include "support/slow_communicator.h"
#include "support/temporary_folder.h"
#include "support/training_example.h"
#include "support/training_ranks.h"

namespace assay {
namespace {

constexpr std::uint64_t most_bucket = std::uint64_t{1} << 30;
constexpr double least_operation = 0.03;  // s

/// Three layers and the embeddings: four operations, two, or one.
TEST(TrainChoice, FewerSlowOperationsAreFaster) {
  TransformerSettings settings = small_training();
  settings.plan.shape.layers = 3;
  settings.plan.batch = 9;  // with this many tokens, looked-up rows are not sent by themselves
  settings.plan.parallel.ranks = 2;
  for (const bool replayed : {false, true}) {
    std::vector<TimedExchange> timed;
    double operation_seconds = least_operation;
    const auto measure = [&] {
      on_ranks(2, [&](int rank, Device& device, Stream& stream, TrainingRanks ranks) -> Status {
        SlowCommunicator communicator(*ranks.communicator, operation_seconds);
        TransformerSettings own = settings;
        own.ranks = {&communicator, ranks.team};
        const TokenBatches batches = random_batches(settings.plan, 9, 5);
        auto training = TRY(TransformerTraining::create(device, stream, own, batches));
        TRY(training->step(stream));
        const Section& layer = training->arenas().sections().back();
        const std::uint64_t two_layers = (layer.elements() + 1) * sizeof(float);
        RankStopwatch stopwatch = TRY(RankStopwatch::create(device, stream, own.ranks));
        const auto buckets = different_buckets({1, 2, two_layers, most_bucket, 2 * most_bucket},
                                               training->arenas().sections(), sizeof(float));
        auto found = TRY(time_buckets(*training, stream, stopwatch, replayed, buckets, 1));
        if (rank == 0) timed = std::move(found);
        return {};
      });
    };
    // What else runs here may slow the steps with one of them down: by less than longer operations.
    constexpr int attempts = 5;
    measure();
    for (int i = 1; i < attempts && fastest_exchange(timed).bucket != most_bucket; ++i) {
      operation_seconds *= 2;
      measure();
    }
    ASSERT_EQ(timed.size(), 3u) << replayed;  // 1 and 2 send the same, and so do the last ones
    EXPECT_EQ(timed[0].bucket, 1u);
    EXPECT_EQ(timed[2].bucket, most_bucket);
    // Sleeping never ends early; what else runs here only adds to it.
    EXPECT_GT(timed[0].typical(), 4 * operation_seconds);
    EXPECT_GT(timed[1].typical(), 2 * operation_seconds);
    EXPECT_GT(timed[2].typical(), operation_seconds);
    EXPECT_EQ(fastest_exchange(timed).bucket, most_bucket) << replayed;
  }
}

/// Four layers of 3.2 MB on two ranks.
Cell cell_of_two_ranks(const char* library) {
  const auto cells = expand_cells("train", train_axes(),
                                  {{"model", "4L4H256C64V"},
                                   {"batch", "1"},
                                   {"sequence", "16"},
                                   {"precision", "f32"},
                                   {"sums", "f32"},
                                   {"rate", "1e-3"},
                                   {"attention", "plain"},
                                   {"library", library},
                                   {"ranks", "2"}});
  return cells.value().front();
}

/// Buckets of 8 MiB make two operations, larger ones one. A third rank, which does not train,
/// learns the choice, and what was measured once is not measured again. One of two libraries is
/// slow; a third one is not there.
TEST(TrainChoice, IsMeasuredOnceAndTheSameOnAllRanks) {
  const Cell cell = cell_of_two_ranks("fastest");
  const TemporaryFolder folder;
  const ChoiceCache cache(folder.path());
  std::array<ExchangeChoice, 3> first, again;
  for (auto* const chosen : {&first, &again}) {
    ThreadTeam team(3);
    team.run([&](ThreadTeam::End& end) {
      const auto device = open_test_device("cpu");
      const auto stream = std::move(device->create_stream()).value();
      Communicators communicators(*device, end);
      std::unique_ptr<Communicator> slow;
      const auto communicator = [&](const std::string& library) -> Result<Communicator*> {
        if (library == "none") return Error{ErrorKind::unavailable, "there is no such library"};
        Communicator* const other = TRY(communicators.first("tcp", 2));
        if (library == "tcp" || other == nullptr) return other;
        slow = std::make_unique<SlowCommunicator>(*other, 0.1);
        return slow.get();
      };
      const TrainCell parsed = parse_train_cell(cell).value();
      EXPECT_TRUE(parsed.chooses_library);
      const std::string problem = exchange_problem(cell, device->facts(), end).value();
      auto choice = choose_exchange(*parsed.model, cache, problem,
                                    {{"tcp", "slow", "none"}, {8 << 20, 16 << 20}, communicator}, 2,
                                    false, *device, *stream, end);
      ASSERT_TRUE(choice) << choice.error().message;
      (*chosen)[static_cast<std::size_t>(end.rank())] = *std::move(choice);
    });
  }
  EXPECT_EQ(first[0].library, "tcp") << first[0].times;
  EXPECT_THAT(first[0].times,
              testing::MatchesRegex("tcp 8MiB .+, tcp 16MiB .+, slow 8MiB .+, slow 16MiB .+"));
  for (const ExchangeChoice& choice : first) {
    EXPECT_FALSE(choice.remembered);
    EXPECT_EQ(to_text(choice), to_text(first[0]));
  }
  for (const ExchangeChoice& choice : again) {
    EXPECT_TRUE(choice.remembered);
    EXPECT_EQ(to_text(choice), to_text(first[0]));
  }
}

/// There is one library, and every bucket holds the whole model, so no model is made for the
/// choice.
TEST(TrainChoice, NothingIsMeasuredWhereThereIsOneWay) {
  const Cell cell = cell_of_two_ranks("tcp");
  const TemporaryFolder folder;
  on_ranks(2, [&](int, Device& device, Stream& stream, TrainingRanks ranks) -> Status {
    const TrainCell parsed = TRY(parse_train_cell(cell));
    const auto communicator = [&](const std::string&) -> Result<Communicator*> {
      return ranks.communicator;
    };
    const ExchangeChoice choice =
        TRY(choose_exchange(*parsed.model, ChoiceCache(folder.path()), "problem",
                            {{"tcp"}, {64 << 20, 32 << 20, 128 << 20}, communicator}, 2, false,
                            device, stream, *ranks.team));
    EXPECT_EQ(choice.library, "tcp");
    EXPECT_EQ(choice.bucket, std::uint64_t{64} << 20);
    EXPECT_EQ(choice.times, "");
    return {};
  });
}

}  // namespace
}  // namespace assay

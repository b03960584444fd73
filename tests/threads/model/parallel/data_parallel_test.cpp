// Training one model on several ranks, which are threads of this process with a CPU each: what
// comes out is what one rank alone computes from the same batches.
#include "model/parallel/data_parallel.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "model/perceptron/mlp_training.h"
#include "model/training/checkpoint.h"
#include "model/transformer/named_shapes.h"
#include "support/model_folder.h"
#include "support/temporary_folder.h"
#include "support/training_example.h"
#include "support/training_ranks.h"

namespace assay {
namespace {

constexpr std::int64_t passes = 4;  // of a step, of all ranks together
constexpr std::uint64_t steps = 5;

struct Way {
  const char* name;
  int ranks;
  Sharding sharding;
  std::uint64_t bucket_bytes;
  bool captured;
};

std::string name_of(const testing::TestParamInfo<Way>& info) {
  return info.param.name;
}

void PrintTo(const Way& way, std::ostream* out) {
  *out << way.name;
}

/// What a run comes to on one of its ranks.
struct Outcome {
  std::vector<float> losses;
  std::vector<NamedTensor> tensors;
  std::vector<float> weights;
  std::optional<double> held_back;
  StepState state;
};

TransformerSettings settings_for(const Way& way, DataType precision = DataType::f32) {
  TransformerSettings settings = small_training(precision);
  settings.plan.shape.layers = 5;  // several turns of each place
  settings.rates = {0.01f};
  settings.accumulate = passes / way.ranks;
  settings.plan.parallel.ranks = way.ranks;
  settings.plan.parallel.sharding = way.sharding;
  settings.plan.parallel.bucket_bytes = way.bucket_bytes;
  return settings;
}

Status take_steps(Training& training, Stream& stream, bool captured) {
  TRY(training.step(stream));
  if (captured) {
    TRY(training.settle(stream));
    TRY(stream.begin_capture());
    TRY(training.step(stream));
    const auto graph = TRY(stream.end_capture());
    for (std::uint64_t i = 1; i < steps; ++i) TRY(stream.launch(*graph));
    return training.settle(stream);
  }
  for (std::uint64_t i = 1; i < steps; ++i) TRY(training.step(stream));
  return training.settle(stream);
}

Result<Outcome> outcome_of(Training& training, Stream& stream, bool captured) {
  TRY(take_steps(training, stream, captured));
  return Outcome{TRY(training.losses(stream, 0, steps)), training.tensors(),
                 TRY(training.weights(stream)), TRY(training.held_back_loss(stream)),
                 TRY(training.state(stream))};
}

TokenBatches batches_for(const TransformerPlan& plan, std::int64_t count, std::uint64_t seed) {
  if (!plan.documents) return random_batches(plan, count, seed);
  const PackedRows rows =
      random_documents(plan.shape.vocabulary, count * plan.batch, plan.sequence, 9, seed);
  return batches_of_rows(rows, plan.batch, true).value();
}

std::vector<Outcome> train(const Way& way, const TransformerSettings& settings) {
  const TokenBatches batches = batches_for(settings.plan, 9, 5);
  const TokenBatches held_back = batches_for(settings.plan, 2, 6);
  std::vector<Outcome> runs(static_cast<std::size_t>(way.ranks));
  on_ranks(way.ranks, [&](int rank, Device& device, Stream& stream, TrainingRanks ranks) -> Status {
    TransformerSettings own = settings;
    own.ranks = ranks;
    auto training = TRY(TransformerTraining::create(device, stream, own, batches, held_back));
    runs[static_cast<std::size_t>(rank)] = TRY(outcome_of(*training, stream, way.captured));
    return {};
  });
  return runs;
}

double largest_distance(const Outcome& a, const Outcome& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.tensors.size(); ++i) {
    const Tensor &of_a = a.tensors[i].tensor, &of_b = b.tensors[i].tensor;
    for (std::int64_t k = 0; k < of_a.elements(); ++k) {
      const auto place = static_cast<std::size_t>(k);
      largest = std::max<double>(
          largest, std::abs(a.weights[of_a.offset + place] - b.weights[of_b.offset + place]));
    }
  }
  return largest;
}

constexpr Way one_rank = {"alone", 1, Sharding::none, 0, false};

class DataParallelTraining : public testing::TestWithParam<Way> {};

TEST_P(DataParallelTraining, IsThatOfOneRankOnTheSameBatchesBitForBitEachTime) {
  static const Outcome expected = train(one_rank, settings_for(one_rank)).front();
  ASSERT_EQ(expected.losses.size(), steps);
  EXPECT_LT(expected.losses.back(), expected.losses.front() - 0.1);
  const std::vector<Outcome> runs = train(GetParam(), settings_for(GetParam()));
  for (const Outcome& run : runs) {
    ASSERT_EQ(run.losses.size(), steps);
    for (std::size_t i = 0; i < steps; ++i) EXPECT_NEAR(run.losses[i], expected.losses[i], 1e-5);
    EXPECT_NEAR(run.held_back.value(), expected.held_back.value(), 1e-5);
    EXPECT_LT(largest_distance(run, expected), 1e-4);
    EXPECT_EQ(run.weights, runs.front().weights) << "ranks differ";
  }
  const Outcome again = train(GetParam(), settings_for(GetParam())).front();
  EXPECT_EQ(again.losses, runs.front().losses);
  EXPECT_EQ(again.weights, runs.front().weights);
}

/// Batches whose numbers of targets differ, weights of files, and a head whose logits are computed
/// in parts where their gradients are used.
TEST_P(DataParallelTraining, OfPackedDocumentsIsThatOfOneRank) {
  static const TemporaryFolder folder;
  const auto settings = [](const Way& way) {
    TransformerSettings made = settings_for(way);
    TransformerPlan& plan = made.plan;
    plan.shape = parse_decoder_shape("3L4H2K16D72C40F101V").value();
    plan.documents = true;
    plan.head_rows = 24;
    write_model(folder, plan.shape, model_tensors(plan.shape, random_weights(plan.shape, 3)),
                DataType::bf16, 2);
    made.weights = folder.path();
    return made;
  };
  static const Outcome expected = train(one_rank, settings(one_rank)).front();
  const std::vector<Outcome> runs = train(GetParam(), settings(GetParam()));
  for (const Outcome& run : runs) {
    ASSERT_EQ(run.losses.size(), steps);
    for (std::size_t i = 0; i < steps; ++i) EXPECT_NEAR(run.losses[i], expected.losses[i], 1e-5);
    EXPECT_NEAR(run.held_back.value(), expected.held_back.value(), 1e-5);
    EXPECT_LT(largest_distance(run, expected), 1e-4);
    EXPECT_EQ(run.weights, runs.front().weights) << "ranks differ";
  }
}

TEST_P(DataParallelTraining, OfAdaptersIsThatOfOneRank) {
  if (GetParam().sharding == Sharding::parameters) {
    GTEST_SKIP() << "frozen weights beside adapters are not sharded";
  }
  const auto settings = [](const Way& way) {
    TransformerSettings made = settings_for(way);
    made.plan.shape = parse_decoder_shape("3L4H2K16D72C40F101V").value();
    made.plan.lora = {.rank = 4, .alpha = 8, .targets = parse_lora_targets("all").value()};
    return made;
  };
  static const Outcome expected = train(one_rank, settings(one_rank)).front();
  EXPECT_NE(expected.losses.back(), expected.losses.front());
  for (const Outcome& run : train(GetParam(), settings(GetParam()))) {
    ASSERT_EQ(run.losses.size(), steps);
    for (std::size_t i = 0; i < steps; ++i) EXPECT_NEAR(run.losses[i], expected.losses[i], 1e-5);
    EXPECT_NEAR(run.held_back.value(), expected.held_back.value(), 1e-5);
    EXPECT_LT(largest_distance(run, expected), 1e-4);
  }
}

/// The head is a section of its own, which the backward pass completes first.
TEST_P(DataParallelTraining, OfAModelWithItsOwnHeadIsThatOfOneRank) {
  const auto settings = [](const Way& way) {
    TransformerSettings made = settings_for(way);
    made.plan.shape = parse_decoder_shape("3L4H2K16D72C40F101V").value();
    made.plan.shape.head_norms = true;
    made.plan.shape.biases = Biases::qkv;
    return made;
  };
  static const Outcome expected = train(one_rank, settings(one_rank)).front();
  EXPECT_LT(expected.losses.back(), expected.losses.front() - 0.1);
  const std::vector<Outcome> runs = train(GetParam(), settings(GetParam()));
  for (const Outcome& run : runs) {
    ASSERT_EQ(run.losses.size(), steps);
    for (std::size_t i = 0; i < steps; ++i) EXPECT_NEAR(run.losses[i], expected.losses[i], 1e-5);
    EXPECT_NEAR(run.held_back.value(), expected.held_back.value(), 1e-5);
    EXPECT_LT(largest_distance(run, expected), 1e-4);
    EXPECT_EQ(run.weights, runs.front().weights) << "ranks differ";
  }
}

/// While gradients are exchanged, blocks before them still have activations in their arena.
TEST_P(DataParallelTraining, WithGradientsOverActivationsHasTheSameBits) {
  TransformerSettings settings = settings_for(GetParam());
  settings.plan.shape = parse_decoder_shape("5L4H2K16D72C40F101V").value();
  settings.plan.recompute = Recompute::perceptron;
  settings.accumulate = 1;
  const std::vector<Outcome> apart = train(GetParam(), settings);
  const std::uint64_t before = memory_of(settings.plan).total();
  settings.plan.one_pass = true;
  const bool sharded = settings.plan.parallel.slices_parameters();  // and so lie elsewhere
  EXPECT_EQ(memory_of(settings.plan).total() < before, !sharded);
  const std::vector<Outcome> over = train(GetParam(), settings);
  for (std::size_t i = 0; i < apart.size(); ++i) {
    EXPECT_EQ(over[i].losses, apart[i].losses);
    EXPECT_EQ(over[i].weights, apart[i].weights);
  }
}

/// Whatever was learnt and whichever section used a place last.
TEST_P(DataParallelTraining, BegunAnewItTakesTheSameSteps) {
  const Way& way = GetParam();
  TransformerSettings settings = settings_for(way);
  on_ranks(way.ranks, [&](int, Device& device, Stream& stream, TrainingRanks ranks) -> Status {
    TransformerSettings own = settings;
    own.ranks = ranks;
    auto training =
        TRY(TransformerTraining::create(device, stream, own, random_batches(settings.plan, 9, 5)));
    const std::uint64_t initial = TRY(training->checksum(stream));
    TRY(take_steps(*training, stream, way.captured));
    const std::vector<float> losses = TRY(training->losses(stream, 0, steps));
    const std::uint64_t trained = TRY(training->checksum(stream));
    EXPECT_NE(trained, initial);
    TRY(training->restart(stream));
    EXPECT_EQ(TRY(training->checksum(stream)), initial);
    TRY(take_steps(*training, stream, way.captured));
    EXPECT_EQ(TRY(training->losses(stream, 0, steps)), losses);
    EXPECT_EQ(TRY(training->checksum(stream)), trained);
    return {};
  });
}

TEST_P(DataParallelTraining, NarrowIsNearF32HoweverItIsAddedUp) {
  static const Outcome expected = train(one_rank, settings_for(one_rank)).front();
  for (const DataType precision : {DataType::bf16, DataType::f16}) {
    for (const bool f32_sums : {false, true}) {
      TransformerSettings settings = settings_for(GetParam(), precision);
      settings.plan.parallel.f32_sums = f32_sums;
      const Outcome outcome = train(GetParam(), settings).front();
      ASSERT_EQ(outcome.losses.size(), steps);
      for (std::size_t i = 0; i < steps; ++i) {
        EXPECT_NEAR(outcome.losses[i], expected.losses[i],
                    precision == DataType::bf16 ? 0.03 : 5e-3);
      }
    }
  }
}

/// A loss scale so high that some gradients overflow: no rank updates, whoever has them, and all
/// continue with the same scale, as one rank alone does.
TEST_P(DataParallelTraining, RanksSkipAnUpdateOfF16Together) {
  const auto settings = [](const Way& way) {
    TransformerSettings made = settings_for(way, DataType::f16);
    made.loss_scaling.initial = 0x1p19f;
    return made;
  };
  static const Outcome expected = train(one_rank, settings(one_rank)).front();
  EXPECT_GT(expected.state.skipped, 0u);
  EXPECT_LT(expected.state.skipped, steps - 1);
  const std::vector<Outcome> runs = train(GetParam(), settings(GetParam()));
  for (const Outcome& run : runs) {
    EXPECT_EQ(run.state.skipped, expected.state.skipped);
    EXPECT_EQ(run.state.loss_scale, expected.state.loss_scale);
    EXPECT_EQ(run.weights, runs.front().weights) << "ranks differ";
    ASSERT_EQ(run.losses.size(), steps);
    for (std::size_t i = 0; i < steps; ++i) EXPECT_NEAR(run.losses[i], expected.losses[i], 5e-3);
  }
}

/// Its memory differs from that of one rank alone by as much as the plans say.
TEST_P(DataParallelTraining, TakesTheMemoryOfItsPlan) {
  const auto beyond_plan = [](const Way& way) {
    const TransformerSettings settings = settings_for(way);
    const TokenBatches batches = random_batches(settings.plan, 1, 5);
    std::atomic<std::int64_t> bytes = 0;
    on_ranks(way.ranks, [&](int, Device& device, Stream& stream, TrainingRanks ranks) -> Status {
      TransformerSettings own = settings;
      own.ranks = ranks;
      auto training = TRY(TransformerTraining::create(device, stream, own, batches));
      bytes =
          static_cast<std::int64_t>(training->allocated_bytes() - memory_of(settings.plan).total());
      return {};
    });
    return bytes.load();
  };
  EXPECT_EQ(beyond_plan(GetParam()), beyond_plan(one_rank));
}

TEST(DataParallel, SlicesTakeLessMemory) {
  const auto parameters = [](int ranks, Sharding sharding) {
    TransformerPlan plan = small_training().plan;
    plan.shape.layers = 24;
    plan.parallel.ranks = ranks;
    plan.parallel.sharding = sharding;
    const TrainingMemory memory = memory_of(plan);
    return std::array<std::uint64_t, 2>{memory.parameters + memory.gradients, memory.optimizer};
  };
  const auto whole = parameters(1, Sharding::none);
  EXPECT_LT(parameters(8, Sharding::none)[1], whole[1] * 1.05);  // but for gaps
  EXPECT_LT(parameters(8, Sharding::optimizer)[1], whole[1] / 7);
  EXPECT_GT(parameters(8, Sharding::optimizer)[0], whole[0] - 1);
  EXPECT_LT(parameters(8, Sharding::parameters)[0], whole[0] / 3);
}

/// If a later allocation fails, what is allocated here is freed at once: no work may be left that
/// writes there.
TEST(ParameterArenas, AreReadyWhenTheyAreThere) {
  std::atomic<bool> complete = false;
  const auto device = open_test_device("cpu");
  const auto stream = std::move(device->create_stream()).value();
  ASSERT_TRUE(stream->call([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    complete = true;
  }));
  ASSERT_TRUE(
      ParameterArenas::allocate(*device, *stream, small_training().plan, {{0, 1000}}, 0, 0));
  EXPECT_TRUE(complete);
}

/// Also on a rank whose slices begin later in the model than in its memory.
TEST(DataParallel, WhatARankUpdatesIsCountedBySections) {
  const auto device = open_test_device("cpu");
  const auto stream = std::move(device->create_stream()).value();
  for (const Sharding sharding : {Sharding::none, Sharding::optimizer, Sharding::parameters}) {
    ParameterPlan plan = small_training().plan;
    plan.parallel.ranks = 2;
    plan.parallel.sharding = sharding;
    const auto arenas =
        ParameterArenas::allocate(*device, *stream, plan, {{0, 64}, {64, 256}, {256, 320}}, 1, 1)
            .value();
    const std::vector<UpdatePiece> pieces = arenas.pieces();
    std::size_t before = 0, of_pieces = 0;
    for (std::size_t i = 0; i < arenas.sections().size(); ++i) {
      const auto kept = arenas.kept_of(ParameterPart::gradients, i);
      EXPECT_EQ(arenas.updated_before(i), before);
      if (pieces.size() == 1) {
        const auto* const begin = static_cast<const std::byte*>(pieces.front().gradients);
        EXPECT_EQ(kept.address, begin + before * size_of(plan.type));
      } else {
        EXPECT_EQ(kept.address, pieces[i].gradients);
      }
      before += kept.elements;
    }
    for (const UpdatePiece& piece : pieces) of_pieces += piece.elements;
    EXPECT_EQ(arenas.updated_before(arenas.sections().size()), before);
    EXPECT_EQ(of_pieces, before);
  }
}

/// A checkpoint of 4 ranks continues with 1 and 2, however it is sliced, and one of 1 rank with 4.
/// By its checksum ranks see that they read the same.
TEST(DataParallel, CheckpointsGoOnWithOtherRanks) {
  const TemporaryFolder folder;
  const Way wide = {"", 4, Sharding::parameters, 1, false};
  const Way narrow = {"", 2, Sharding::optimizer, 1, false};
  const TransformerSettings settings = settings_for(one_rank);
  const TokenBatches batches = random_batches(settings.plan, 9, 5);
  std::mutex mutex;
  std::map<std::string, std::set<std::uint64_t>> checksums;  // by file
  const auto train = [&](const Way& way, const std::string& from, const std::string& save) {
    std::vector<float> losses;
    on_ranks(way.ranks,
             [&](int rank, Device& device, Stream& stream, TrainingRanks ranks) -> Status {
               TransformerSettings own = settings_for(way);
               own.ranks = ranks;
               auto training = TRY(TransformerTraining::create(device, stream, own, batches));
               if (!from.empty()) {
                 const auto sum = TRY(load_checkpoint(*training, stream, folder.path() / from));
                 const std::lock_guard lock(mutex);
                 checksums[from].insert(sum);
               }
               const std::uint64_t first = TRY(training->state(stream)).step;
               for (std::uint64_t i = 0; i < steps; ++i) TRY(training->step(stream));
               const auto found = TRY(training->losses(stream, first, steps));
               if (rank == 0) losses = found;
               if (save.empty()) return {};
               return save_checkpoint(*training, stream, folder.path() / save);
             });
    return losses;
  };
  const std::vector<float> begun = train(one_rank, "", "of_one");
  train(wide, "", "of_four");
  // Each file's own: what little two runs differ by grows from step to step.
  for (const std::string file : {"of_one", "of_four"}) {
    const std::vector<float> expected = train(file == "of_one" ? one_rank : wide, file, "");
    ASSERT_EQ(expected.size(), steps);
    EXPECT_LT(expected.front(), begun.back() + 0.1);
    for (const Way& way : {one_rank, narrow, wide}) {
      const std::vector<float> losses = train(way, file, "");
      ASSERT_EQ(losses.size(), steps) << file;
      for (std::size_t i = 0; i < steps; ++i) {
        EXPECT_NEAR(losses[i], expected[i], 1e-5) << file << " with " << way.ranks;
      }
    }
  }
  EXPECT_EQ(checksums["of_one"].size(), 1u);
  EXPECT_EQ(checksums["of_four"].size(), 1u);
  EXPECT_NE(checksums["of_one"], checksums["of_four"]);
}

/// Layers of different widths take turns in the same places.
TEST_P(DataParallelTraining, OfAPerceptronToo) {
  const auto train = [](const Way& way) {
    MlpSettings settings;
    settings.plan.shape.widths = {24, 40, 72, 8, 56, 16};
    settings.plan.batch = 4;
    settings.plan.type = settings.precision = DataType::f32;
    settings.plan.parallel.ranks = way.ranks;
    settings.plan.parallel.sharding = way.sharding;
    settings.plan.parallel.bucket_bytes = way.bucket_bytes;
    settings.measured_products = false;
    settings.accumulate = passes / way.ranks;
    const RegressionBatches batches = synthetic_regression(9, 4, 24, 16, 3);
    Outcome outcome;
    on_ranks(way.ranks,
             [&](int rank, Device& device, Stream& stream, TrainingRanks ranks) -> Status {
               MlpSettings own = settings;
               own.ranks = ranks;
               auto training = TRY(MlpTraining::create(device, stream, own, batches));
               Outcome found = TRY(outcome_of(*training, stream, way.captured));
               if (rank == 0) outcome = std::move(found);
               return {};
             });
    return outcome;
  };
  const Outcome expected = train(one_rank), outcome = train(GetParam());
  ASSERT_EQ(outcome.losses.size(), steps);
  for (std::size_t i = 0; i < steps; ++i) {
    EXPECT_NEAR(outcome.losses[i], expected.losses[i], 1e-5);
  }
  EXPECT_LT(largest_distance(outcome, expected), 1e-4);
}

INSTANTIATE_TEST_SUITE_P(Ways, DataParallelTraining,
                         testing::Values(Way{"ddp", 4, Sharding::none, 1, false},
                                         Way{"ddp_buckets", 2, Sharding::none, 200'000, true},
                                         Way{"zero1", 4, Sharding::optimizer, 1, true},
                                         Way{"zero1_buckets", 2, Sharding::optimizer, 200'000,
                                             false},
                                         Way{"fsdp", 4, Sharding::parameters, 1, false},
                                         Way{"fsdp_accumulates", 2, Sharding::parameters, 1, true}),
                         name_of);

}  // namespace
}  // namespace assay

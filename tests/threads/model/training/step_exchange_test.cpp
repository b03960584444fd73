// What ranks send each other in a step of training, and what a step without that computes.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "model/tensors/weights.h"
#include "support/training_example.h"
#include "support/training_ranks.h"

namespace assay {
namespace {

/// Each rank keeps the gradients of its own, also where sums would be made in another type.
TEST(StepExchange, AStepWithoutItTellsNothing) {
  for (const Sharding sharding : {Sharding::none, Sharding::optimizer, Sharding::parameters}) {
    for (const bool f32_sums : {false, true}) {
      std::array<std::vector<float>, 2> shared, own_gradients;
      on_ranks(2, [&](int rank, Device& device, Stream& stream, TrainingRanks ranks) -> Status {
        TransformerSettings own = two_ranks_training(sharding, 1);
        own.plan.type = own.precision = DataType::bf16;
        own.plan.parallel.f32_sums = f32_sums;
        own.ranks = ranks;
        auto training =
            TRY(TransformerTraining::create(device, stream, own, random_batches(own.plan, 9, 5)));
        const auto of_this_rank = [&]() -> Result<std::vector<float>> {
          const auto range = training->arenas().kept_of(ParameterPart::gradients, 0);
          return read_weights(stream, range.address, own.plan.type, range.elements);
        };
        TRY(training->step(stream));
        EXPECT_FALSE(training->exchanged().empty());
        shared[static_cast<std::size_t>(rank)] = TRY(of_this_rank());
        TRY(training->hold_weights(stream));
        TRY(training->step_without_exchange(stream));
        EXPECT_TRUE(training->exchanged().empty());
        own_gradients[static_cast<std::size_t>(rank)] = TRY(of_this_rank());
        return {};
      });
      if (sharding != Sharding::none) continue;  // elsewhere each keeps another slice of them
      EXPECT_EQ(shared[0], shared[1]);
      EXPECT_NE(own_gradients[0], own_gradients[1]);
    }
  }
}

/// What the other rank looked up belongs to the exchange: without it a rank computes what it would
/// alone from its batch, of half of the loss.
TEST(StepExchange, WithoutItARankAddsItsOwnLookups) {
  const auto gradients_of = [](Training& training, Stream& stream) -> Result<std::vector<float>> {
    const auto range = training.arenas().kept_of(ParameterPart::gradients, 0);
    TRY(stream.synchronize());
    return read_weights(stream, range.address, DataType::f32, range.elements);
  };
  const TransformerSettings settings = two_ranks_training(Sharding::none, 1);
  const TokenBatches batches = random_batches(settings.plan, 4, 5);
  std::array<std::vector<float>, 2> of_two;
  std::array<std::vector<float>, 4> alone;
  on_ranks(2, [&](int rank, Device& device, Stream& stream, TrainingRanks ranks) -> Status {
    TransformerSettings own = settings;
    own.ranks = ranks;
    auto training = TRY(TransformerTraining::create(device, stream, own, batches));
    TRY(training->hold_weights(stream));
    TRY(training->step(stream));
    TRY(training->step_without_exchange(stream));
    of_two[static_cast<std::size_t>(rank)] = TRY(gradients_of(*training, stream));
    return {};
  });
  on_ranks(1, [&](int, Device& device, Stream& stream, TrainingRanks) -> Status {
    TransformerSettings own = settings;
    own.plan.parallel.ranks = 1;
    auto training = TRY(TransformerTraining::create(device, stream, own, batches));
    TRY(training->hold_weights(stream));
    for (std::vector<float>& gradients : alone) {
      TRY(training->step(stream));
      gradients = TRY(gradients_of(*training, stream));
    }
    return {};
  });
  for (const std::size_t rank : {0u, 1u}) {
    const std::vector<float>& expected = alone[2 + rank];  // the second step's batches
    ASSERT_LE(expected.size(), of_two[rank].size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      ASSERT_NEAR(2 * of_two[rank][i], expected[i], 1e-5) << "rank " << rank << ", " << i;
    }
  }
}

/// Also where updates are rounded stochastically, and by both optimizers.
TEST(StepExchange, WeightsThatAreHeldStayTheSame) {
  for (const auto& [type, optimizer] : {std::pair(DataType::f32, Optimizer::adamw),
                                        {DataType::f32, Optimizer::sgd},
                                        {DataType::bf16, Optimizer::adamw}}) {
    on_ranks(2, [&](int, Device& device, Stream& stream, TrainingRanks ranks) -> Status {
      TransformerSettings own = small_training(type);
      own.plan.parallel.ranks = 2;
      own.plan.optimizer = optimizer;
      if (type == DataType::bf16) own.plan.states = OptimizerStates::stochastic;
      own.ranks = ranks;
      auto training =
          TRY(TransformerTraining::create(device, stream, own, random_batches(own.plan, 9, 5)));
      const std::uint64_t first = TRY(training->checksum(stream));
      TRY(training->step(stream));
      const std::uint64_t changed = TRY(training->checksum(stream));
      EXPECT_NE(changed, first);
      TRY(training->hold_weights(stream));
      TRY(training->step(stream));
      TRY(training->step_without_exchange(stream));
      EXPECT_EQ(TRY(training->checksum(stream)), changed);
      return {};
    });
  }
}

/// The head's part of the embeddings' gradients goes first, what tokens looked up by itself before
/// the last sum, where that moves fewer bytes, else with the last sum. Nothing else is sent in a
/// step, or alone.
TEST(StepExchange, WhatTokensLookedUpComesByItself) {
  using enum CollectiveOperation;
  struct Expected {
    Sharding sharding;
    std::int64_t batch;
    CollectiveOperation sum;
    bool gathers_rows;
  };
  for (const Expected& expected : {Expected{Sharding::none, 3, all_reduce, true},
                                   Expected{Sharding::none, 9, all_reduce, false},
                                   Expected{Sharding::optimizer, 3, reduce_scatter, true},
                                   Expected{Sharding::optimizer, 9, reduce_scatter, false},
                                   Expected{Sharding::parameters, 3, reduce_scatter, false}}) {
    on_ranks(2, [&](int, Device& device, Stream& stream, TrainingRanks ranks) -> Status {
      TransformerSettings own = two_ranks_training(expected.sharding, 1);
      own.plan.batch = expected.batch;
      own.ranks = ranks;
      auto training =
          TRY(TransformerTraining::create(device, stream, own, random_batches(own.plan, 9, 5)));
      TRY(training->step(stream));
      std::vector<CollectiveCall> calls = training->exchanged();
      TRY(training->exchange_alone(stream));
      const std::vector<CollectiveCall> alone = training->exchanged();
      TRY(training->settle(stream));
      // Norms of slices are added up at the end of a step, and weights gathered at its beginning.
      if (expected.sharding != Sharding::none) calls.pop_back();
      EXPECT_EQ(calls.size(), alone.size());
      const auto is_gradient = [&](const CollectiveCall& call) {
        return call.operation != all_gather;
      };
      const auto first = std::ranges::find_if(calls, is_gradient);
      EXPECT_EQ(first->operation, expected.sum);
      EXPECT_EQ(calls.back().operation, expected.sum);
      const std::size_t slices = expected.sharding == Sharding::none ? 1 : 2;
      const auto of_section = [&](std::size_t section) {
        return training->arenas().sections()[section].elements() / slices;
      };
      const CollectiveCall& before_last = calls[calls.size() - 2];
      if (expected.gathers_rows) {
        EXPECT_EQ(first->count, of_section(0));
        EXPECT_EQ(before_last.operation, all_gather);
        EXPECT_EQ(before_last.count,
                  static_cast<std::size_t>(own.plan.tokens() * own.plan.shape.width));
        EXPECT_EQ(calls.back().count, of_section(1));
      } else {
        EXPECT_EQ(calls.back().count, of_section(0));
      }
      for (std::size_t i = 0; i < std::min(calls.size(), alone.size()); ++i) {
        EXPECT_EQ(calls[i].operation, alone[i].operation) << i;
        EXPECT_EQ(calls[i].count, alone[i].count) << i;
      }
      return {};
    });
  }
}

}  // namespace
}  // namespace assay

// What ranks that share a server's model agree on, as threads of this process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/transformer/named_shapes.h"
#include "serving/engine/cache_plan.h"
#include "serving/engine/step_executor.h"
#include "support/training_ranks.h"

namespace assay::engine {
namespace {

ExecutorSettings settings_of(int rank, ModelRanks ranks) {
  return {.shape = parse_decoder_shape("2L4H2K16D64C96F131V").value(),
          .precision = DataType::f32,
          .part = {rank, ranks.communicator->size()},
          .ranks = ranks};
}

/// The cache has as many blocks on all, and each holds only its own heads.
TEST(RanksOfAServer, HaveTheCacheThatAllHaveRoomFor) {
  std::array<std::int64_t, 2> blocks = {};
  on_ranks(2, [&](int rank, Device& device, Stream&, ModelRanks ranks) -> Status {
    ExecutorSettings settings = settings_of(rank, ranks);
    const auto total = static_cast<double>(TRY(device.memory_free_and_total()).second);
    AskedLimits asked = {.max_length = 512};
    // Rank 1 may take what its weights need, and twenty blocks.
    settings.max_sequences = 64;
    settings.max_batched_tokens = 256;
    settings.max_length = 512;
    const DecoderMemory memory = memory_of(settings.decoder());
    const double block = 16 * own_shape(settings.shape, settings.part).cache_elements() * 4;
    if (rank == 1) {
      asked.utilization =
          (static_cast<double>(memory.weights + memory.activations) + 60.5 * block) / total;
    }
    TRY(plan_cache(device, asked, settings));
    blocks[static_cast<std::size_t>(rank)] = settings.blocks;
    return {};
  });
  EXPECT_EQ(blocks[0], 60);
  EXPECT_EQ(blocks[1], 60);
}

/// Without a file of weights on one rank no rank waits for it in a pass.
TEST(RanksOfAServer, AreToldWhichOneHasNoModel) {
  std::array<std::string, 2> errors;
  on_ranks(2, [&](int rank, Device& device, Stream&, ModelRanks ranks) -> Status {
    ExecutorSettings settings = settings_of(rank, ranks);
    settings.max_sequences = 4;
    settings.max_batched_tokens = 16;
    settings.max_length = 64;
    settings.blocks = 16;
    if (rank == 1) settings.folder = "/none";
    const auto made = StepExecutor::create(device, settings);
    if (!made.ok()) errors[static_cast<std::size_t>(rank)] = made.error().message;
    return {};
  });
  for (const std::string& error : errors) {
    EXPECT_THAT(error, testing::AllOf(testing::HasSubstr("rank 1"), testing::HasSubstr("/none")));
  }
}

}  // namespace
}  // namespace assay::engine

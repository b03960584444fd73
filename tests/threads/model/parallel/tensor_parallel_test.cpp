// A decoder on several ranks, which are threads of this process with a CPU each: they have the same
// logits bit for bit, and those are what one rank alone computes.
#include "model/parallel/tensor_parallel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/random.h"
#include "model/decoder/decoder.h"
#include "model/decoder/decoder_self_check.h"
#include "model/transformer/named_shapes.h"
#include "support/model_folder.h"
#include "support/temporary_folder.h"
#include "support/training_ranks.h"

namespace assay {
namespace {

using testing::HasSubstr;

/// Llama's, Qwen's and what both have not, with fewer heads of keys than four ranks, or as many.
TransformerShape shape_of(std::string_view kind) {
  TransformerShape shape = parse_decoder_shape("2L8H4K16D72C96F331V").value();
  shape.rope_scaling = RopeScaling{.original_positions = 16};
  if (kind == "shared keys") shape.kv_heads = 2;
  if (kind == "one key") shape.kv_heads = 1;
  if (kind == "tied") shape.tied = shape.head_norms = true;
  if (kind == "biased") shape.biases = Biases::qkv;
  return shape;
}
const char* const kinds[] = {"own keys", "shared keys", "one key", "tied", "biased"};

struct Run {
  std::vector<float> logits;            // of all passes
  std::vector<std::int32_t> generated;  // by a captured pass, of two sequences in turn
  std::uint64_t weight_bytes = 0;
};

DecoderSettings settings_for(const TransformerShape& shape, int rank, ModelRanks ranks) {
  const int size = ranks.communicator == nullptr ? 1 : ranks.communicator->size();
  return {.shape = shape,
          .limits = {.tokens = 32, .results = 32, .sequences = 2, .positions = 64, .blocks = 8},
          .precision = DataType::f32,
          .part = {rank, size},
          .ranks = ranks};
}

/// Two prompts, one of them in two parts, and 20 tokens after each.
Result<Run> run(Device& device, Stream& stream, const DecoderSettings& settings) {
  auto decoder = TRY(Decoder::create(device, stream, settings));
  TRY(decoder->set_tables(stream, {7, 1, 5, 3, 6, 0, 4, 2}));
  Run run;
  run.weight_bytes = memory_of(settings).weights;
  const auto pass = [&](const DecoderTokens& tokens, std::int64_t longest) -> Status {
    const auto count = static_cast<std::int64_t>(tokens.tokens.size());
    TRY(decoder->set_tokens(stream, tokens));
    TRY(decoder->enqueue(stream, {count, count, longest}));
    const std::vector<float> logits = TRY(decoder->logits(stream, count));
    run.logits.insert(run.logits.end(), logits.begin(), logits.end());
    return {};
  };
  TRY(pass({.tokens = {17, 3, 99, 330, 5, 6},
            .positions = {0, 1, 2, 3, 0, 1},
            .sequences = {0, 0, 0, 0, 1, 1},
            .results = {0, 1, 2, 3, 4, 5}},
           3));
  TRY(pass({{7}, {2}, {1}, {0}}, 2));  // a pass of one token
  const DecoderPass two = {2, 2, settings.limits.positions - 1};
  TRY(decoder->set_tokens(stream, {{8, 9}, {4, 3}, {0, 1}, {0, 1}}));
  TRY(decoder->enqueue(stream, two));
  TRY(decoder->wait(stream));
  TRY(stream.begin_capture());
  TRY(decoder->enqueue(stream, two));
  TRY(decoder->advance(stream, two));
  const auto graph = TRY(stream.end_capture());
  for (int i = 0; i < 20; ++i) {
    TRY(stream.launch(*graph));
    const std::vector<std::int32_t> next = TRY(decoder->next_tokens(stream, 2));
    run.generated.insert(run.generated.end(), next.begin(), next.end());
  }
  return run;
}

/// The run of each rank, with settings that `change` completes.
std::vector<Run> run_on(int ranks, const TransformerShape& shape,
                        const std::function<void(DecoderSettings&)>& change = {}) {
  std::vector<Run> runs(static_cast<std::size_t>(ranks));
  on_ranks(ranks, [&](int rank, Device& device, Stream& stream, ModelRanks others) -> Status {
    DecoderSettings settings = settings_for(shape, rank, others);
    if (change) change(settings);
    runs[static_cast<std::size_t>(rank)] = TRY(run(device, stream, settings));
    return {};
  });
  return runs;
}

void expect_same(const std::vector<Run>& runs, const Run& alone) {
  ASSERT_FALSE(alone.logits.empty());
  const std::vector<double> expected(alone.logits.begin(), alone.logits.end());
  for (const Run& one : runs) {
    ASSERT_EQ(one.logits.size(), expected.size());
    EXPECT_LE(relative_distance(one.logits, expected), 1e-5);
    EXPECT_EQ(one.logits, runs.front().logits);  // bit for bit
    EXPECT_EQ(one.generated, alone.generated);
    EXPECT_LT(one.weight_bytes, alone.weight_bytes);
  }
}

class TensorParallelDecoders : public testing::TestWithParam<int> {};

TEST_P(TensorParallelDecoders, HaveTheLogitsOfOneRankAndTheSameBits) {
  for (const char* const kind : kinds) {
    SCOPED_TRACE(kind);
    const TransformerShape shape = shape_of(kind);
    expect_same(run_on(GetParam(), shape), run_on(1, shape).front());
  }
}

TEST_P(TensorParallelDecoders, ReadTheirPartsOfFiles) {
  for (const char* const kind : {"shared keys", "biased"}) {
    SCOPED_TRACE(kind);
    const TransformerShape shape = shape_of(kind);
    std::vector<float> weights(TransformerParameters::of(shape).elements);
    Random random(3);
    for (float& x : weights) x = static_cast<float>(random.normal() * 0.1);
    const TemporaryFolder folder;
    for (const DataType type : {DataType::f32, DataType::bf16}) {
      write_model(folder, shape, model_tensors(shape, weights), type);
      const auto from_files = [&](DecoderSettings& settings) { settings.folder = folder.path(); };
      expect_same(run_on(GetParam(), shape, from_files), run_on(1, shape, from_files).front());
    }
  }
}

TEST_P(TensorParallelDecoders, AreHeldAgainstTheReference) {
  for (const char* const kind : kinds) {
    const struct {
      DataType type;
      std::optional<DataType> codes = {}, cache_codes = {};
    } ways[] = {{DataType::f32},
                {DataType::bf16},
                {DataType::f32, DataType::i8},
                {DataType::f32, std::nullopt, DataType::e4m3}};
    for (const auto& way : ways) {
      on_ranks(
          GetParam(), [&](int rank, Device& device, Stream& stream, ModelRanks others) -> Status {
            DecoderSettings settings = settings_for(shape_of(kind), rank, others);
            settings.precision = way.type;
            settings.quantization.codes = way.codes;
            settings.cache_codes = way.cache_codes;
            settings.shape.hidden = 64 * others.communicator->size();
            settings.shape.width = 80;
            const DecoderGate gate = TRY(check_decoder(device, stream, settings));
            EXPECT_TRUE(gate.passed()) << kind << " " << name_of(way.type) << ": " << gate.error;
            EXPECT_GT(gate.error, 0);
            return {};
          });
    }
  }
}

/// An all-reduce after each half of a layer, and a gather of logits.
TEST_P(TensorParallelDecoders, SayWhatTheyTellEachOther) {
  const TransformerShape shape = shape_of("own keys");
  on_ranks(GetParam(), [&](int rank, Device& device, Stream& stream, ModelRanks others) -> Status {
    auto decoder = TRY(Decoder::create(device, stream, settings_for(shape, rank, others)));
    TRY(decoder->set_tokens(stream, {{1, 2, 3}, {0, 1, 2}, {0, 0, 0}, {2}}));
    TRY(decoder->enqueue(stream, {3, 1, 2}));
    const std::vector<float> logits = TRY(decoder->logits(stream, 1));
    const auto calls = decoder->exchange()->exchanged();
    EXPECT_EQ(calls.size(), 2 * static_cast<std::size_t>(shape.layers) + 1);
    for (std::size_t i = 0; i + 1 < calls.size(); ++i) {
      EXPECT_EQ(calls[i].operation, CollectiveOperation::all_reduce);
      EXPECT_EQ(calls[i].count, static_cast<std::size_t>(3 * shape.width));
    }
    EXPECT_EQ(calls.back().operation, CollectiveOperation::all_gather);
    // Without it nobody has all logits.
    decoder->exchange()->leave_out_exchange(true);
    TRY(decoder->poison_results(stream));
    TRY(decoder->enqueue(stream, {3, 1, 2}));
    EXPECT_TRUE(std::isnan(TRY(decoder->logits(stream, 1)).front()));
    EXPECT_FALSE(std::isnan(logits.front()));
    EXPECT_EQ(decoder->exchange()->exchanged().size(), calls.size());
    return {};
  });
}

INSTANTIATE_TEST_SUITE_P(OnRanks, TensorParallelDecoders, testing::Values(2, 4),
                         testing::PrintToStringParamName());

/// A rank that ends is named by those that wait for it.
TEST(TensorParallelDecoder, NamesARankThatIsLost) {
  ThreadTeam team(2);
  team.run([&](ThreadTeam::End& end) {
    const auto device = open_test_device("cpu");
    // What is queued may still use it when queueing has met the end of the other rank.
    const auto communicator = communicator_kind("tcp")->create(*device, end, {}).value();
    const auto stream = std::move(device->create_stream()).value();
    const auto decoder = Decoder::create(
        *device, *stream, settings_for(shape_of("tied"), end.rank(), {communicator.get(), &end}));
    ASSERT_TRUE(decoder.ok()) << decoder.error().message;
    if (end.rank() == 1) return;
    ASSERT_TRUE((*decoder)->set_tokens(*stream, {{1}, {0}, {0}, {0}}));
    // Queueing meets its end if that came first, else waiting does.
    const auto logits = [&]() -> Result<std::vector<float>> {
      TRY((*decoder)->enqueue(*stream, {1, 1, 0}));
      return (*decoder)->logits(*stream, 1);
    }();
    ASSERT_FALSE(logits.ok());
    EXPECT_THAT(logits.error().message, HasSubstr("rank 1"));
  });
}

}  // namespace
}  // namespace assay

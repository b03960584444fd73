// What ranks have of a decoder that they compute together: every part of it, and no more.
#include "model/transformer/tensor_parallel_shard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/transformer/checkpoint_tensors.h"
#include "model/transformer/named_shapes.h"

namespace assay {
namespace {

using testing::HasSubstr;

std::string refusal(std::string_view model, int ranks, bool quantized = false) {
  const Status fits = validate(parse_decoder_shape(model).value(), {0, ranks}, quantized);
  return fits.ok() ? "" : fits.error().message;
}

TEST(TensorParallelShard, IsASmallerDecoder) {
  const TransformerShape whole = parse_decoder_shape("llama3-8b").value();
  const TransformerShape own = own_shape(whole, {3, 4});
  EXPECT_EQ(own.heads, 8);
  EXPECT_EQ(own.kv_heads, 2);
  EXPECT_EQ(own.hidden, 3584);
  EXPECT_EQ(own.width, 4096);
  EXPECT_EQ(head_rows(whole, {}), 128256);
  EXPECT_EQ(head_rows(whole, {0, 4}), 128 * 251);  // 4 times as many are 1004 times 128
}

TEST(TensorParallelShard, OfMoreRanksThanHeadsOfKeysSharesThem) {
  const TransformerShape whole = parse_decoder_shape("2L16H2K16D64C64F").value();
  for (int rank = 0; rank < 8; ++rank) {
    EXPECT_EQ(own_shape(whole, {rank, 8}).kv_heads, 1);
    EXPECT_EQ((TensorParallelShard{rank, 8}.first_kv_head(whole)), rank / 4);
  }
}

TEST(TensorParallelShard, SaysWhatCannotBeDealtOut) {
  EXPECT_EQ(refusal("llama3-8b", 1), "");
  EXPECT_EQ(refusal("llama3-8b", 8), "");
  EXPECT_EQ(refusal("llama3-8b", 32), "");
  EXPECT_THAT(refusal("llama3-8b", 3), HasSubstr("3 ranks: 32 heads cannot be dealt out"));
  EXPECT_THAT(refusal("1L24H8K16D64C96F", 3), HasSubstr("8 heads of keys cannot be dealt out"));
  EXPECT_THAT(refusal("1L24H6K16D64C64F", 4), HasSubstr("6 heads of keys cannot be dealt out"));
  EXPECT_THAT(refusal("1L4H4K16D64C72F", 4), HasSubstr("hidden width 18"));
  EXPECT_EQ(refusal("1L4H4K16D64C96F", 4), "");
  EXPECT_THAT(refusal("1L4H4K16D64C96F", 4, true), HasSubstr("multiples of 16"));
}

/// All ranks together have every element that files hold; of matrices once, but for shared keys.
TEST(TensorParallelShard, IsEveryElementOfTheWhole) {
  for (const auto& [model, ranks] :
       {std::pair("2L8H4K16D64C64F300V", 4), {"1L8H2K16D64C64F500V", 4}}) {
    TransformerShape shape = parse_decoder_shape(model).value();
    shape.head_norms = true;
    shape.biases = Biases::qkv;
    const TransformerParameters usual = TransformerParameters::of(shape);
    std::vector<int> alone(usual.elements), together(usual.elements);
    const auto count = [&](std::vector<int>& seen, TensorParallelShard part) {
      const TransformerParameters own = TransformerParameters::of(shape, {.shard = part});
      std::vector<int> here(own.elements);
      for (const NamedTensor& named : tensors_of_shard(shape, own, part)) {
        for (std::int64_t row = 0; row < named.tensor.rows; ++row) {
          for (std::int64_t column = 0; column < named.tensor.columns; ++column) {
            const auto at =
                named.first + static_cast<std::size_t>(row * named.whole.columns + column);
            ASSERT_LT(at, static_cast<std::size_t>(named.whole.elements())) << named.name;
            ++seen[named.whole.offset + at];
            ++here[named.tensor.offset +
                   static_cast<std::size_t>(row * named.tensor.columns + column)];
          }
        }
      }
      EXPECT_THAT(here, testing::Each(testing::Le(1)));  // nothing over something else
    };
    count(alone, {});
    for (int rank = 0; rank < ranks; ++rank) count(together, {rank, ranks});
    for (std::size_t i = 0; i < alone.size(); ++i) {
      ASSERT_EQ(together[i] > 0, alone[i] > 0) << i;
    }
    const auto seen_at = [&](const Tensor& t) { return together[t.offset]; };
    EXPECT_EQ(seen_at(usual.layers[0].proj), 1);
    EXPECT_EQ(seen_at(usual.layers[0].norm1_weight), ranks);
    const auto key = usual.layers[0].qkv.rows_from(shape.query_width(), 1);
    EXPECT_EQ(seen_at(key),
              ranks / static_cast<int>(std::min<std::int64_t>(ranks, shape.kv_heads)));
  }
}

}  // namespace
}  // namespace assay

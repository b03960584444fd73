// How much of a model fits into a GPU and its partitions, and how long its steps take.
#include "serving/simulator/capacity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/step_reference.h"

namespace assay::simulator {
namespace {

using ::testing::HasSubstr;

Model llama() {
  return *find_model("Llama-3.1-8B");
}

/// 4096 tokens of Llama-3.1-8B a sequence.
Memory memory_of(double bytes, double weights = 16.06e9, double reserved = 2e9) {
  return {bytes, 0.9, reserved, weights, 4096 * kv_bytes_per_token(llama())};
}

TEST(SimCapacity, BytesOfATokenAndOfTheWeights) {
  EXPECT_DOUBLE_EQ(kv_bytes_per_token(llama()), 131072);
  EXPECT_DOUBLE_EQ(kv_bytes_per_token(*find_model("qwen3-8b")), 147456);
  EXPECT_DOUBLE_EQ(kv_bytes_per_token(*find_model("llama-2-7b")), 524288);
  EXPECT_NEAR(weight_bytes(llama()), 16.06e9, 0.01e9);
  EXPECT_NEAR(weight_bytes_read(llama()), 15.0e9, 0.02e9);
  Model fp8 = llama();
  fp8.bytes_per_weight = fp8.bytes_per_kv_value = 1;
  EXPECT_NEAR(weight_bytes(fp8), 8.03e9, 0.01e9);
  EXPECT_DOUBLE_EQ(kv_bytes_per_token(fp8), 65536);
}

TEST(SimCapacity, AnH200HoldsItsSequencesAndAnEighthOfItNone) {
  const Memory h200 = memory_of(find_gpu("H200")->memory_bytes);
  EXPECT_EQ(sequences_per_part(h200, 1), 219u);
  EXPECT_EQ(sequences_per_part(h200, 8), 0u);
  EXPECT_EQ(most_parts(h200), 7);
  const Memory fp8 = memory_of(h200.bytes, 8e9, 1e9);
  EXPECT_EQ(sequences_per_part(fp8, 8), 14u);
}

TEST(SimCapacity, EighthsOfAnMI350XHoldLessThanHalfOfTheWhole) {
  const Memory whole = memory_of(find_gpu("MI350X")->memory_bytes);
  EXPECT_EQ(sequences_per_part(whole, 1), 449u);
  EXPECT_EQ(sequences_per_part(whole, 8), 26u);
  EXPECT_NEAR(8. * 26 / 449, 0.46, 0.005);
  // Sequences in all partitions divided by those of the whole: 1 - (k-1)(W+R)/(uM-W-R).
  EXPECT_NEAR(8 * cache_bytes(whole, 8) / cache_bytes(whole, 1), 1 - 7 * 18.06 / (259.2 - 18.06),
              1e-9);
  EXPECT_EQ(most_parts(whole), 14);
}

TEST(SimCapacity, NothingFitsWhereTheWeightsDoNot) {
  const Memory small = memory_of(16e9);
  EXPECT_EQ(sequences_per_part(small, 1), 0u);
  EXPECT_EQ(cache_bytes(small, 2), 0);
  EXPECT_EQ(most_parts(small), 0);
}

TEST(SimCapacity, DecodingIsBoundByBandwidthUntilBatchesAreLarge) {
  const Hardware h200 = {4.3e12, 600e12, 0};
  EXPECT_NEAR(decode_seconds(llama(), h200, 1, 1000), 3.5e-3, 0.05e-3);
  EXPECT_NEAR(64 / decode_seconds(llama(), h200, 64, 64 * 1024), 11.7e3, 300);
  // Without any cache to read, compute takes over where B = F b / 2 BW x W read / 2N.
  const double bound = weight_bytes_read(llama()) / h200.bandwidth;
  EXPECT_DOUBLE_EQ(decode_seconds(llama(), h200, 100, 0), bound);
  EXPECT_GT(decode_seconds(llama(), h200, 200, 0), bound);
}

TEST(SimCapacity, APromptTakesItsOperationsOverTheRate) {
  const Hardware h200 = {4.3e12, 600e12, 0};
  EXPECT_NEAR(prefill_seconds(llama(), h200, 2048), 29.7e12 / 600e12, 0.5e-3);
  EXPECT_DOUBLE_EQ(chunk_pairs(100, 0) + chunk_pairs(50, 100), chunk_pairs(150, 0));
}

TEST(SimCapacity, APartitionSweepsTheWeightsAtItsPartOfTheBandwidth) {
  const Gpu gpu = *find_gpu("MI350X");
  const Hardware whole = hardware_of(gpu, {0.9, 0.6, 0}, 1);
  const Hardware eighth = hardware_of(gpu, {0.9, 0.6, 0}, 8);
  EXPECT_NEAR(whole.bandwidth, 7.2e12, 1e9);
  EXPECT_NEAR(decode_seconds(llama(), eighth, 1, 0), 8 * decode_seconds(llama(), whole, 1, 0),
              1e-12);
  // Eight slices at the same total concurrency: tokens/s fall by (8W + K) / (W + K).
  const double w = weight_bytes_read(llama()), k = 64 * 1024 * kv_bytes_per_token(llama());
  EXPECT_NEAR(
      decode_seconds(llama(), eighth, 8, 8 * 1024) / decode_seconds(llama(), whole, 64, 64 * 1024),
      (8 * w + k) / (w + k), 1e-9);
}

TEST(SimPresets, AreFoundInAnyCaseAndErrorsNameThem) {
  for (const char* name : {"MI300X", "MI350X", "MI355X", "H100", "h200", "A100-80"}) {
    const auto gpu = find_gpu(name);
    ASSERT_TRUE(gpu.ok()) << name;
    EXPECT_GT(gpu->memory_bytes, 80e9) << name;
    EXPECT_GT(gpu->bandwidth, 2e12) << name;
    EXPECT_GT(gpu->flops, 300e12) << name;
  }
  EXPECT_THAT(find_gpu("RTX").error().message, HasSubstr("MI300X, MI350X"));
  EXPECT_THAT(find_model("gpt").error().message, HasSubstr("llama-3.1-8b, llama-3.3-70b"));
  EXPECT_EQ(find_model("").error().kind, ErrorKind::usage);
}

}  // namespace
}  // namespace assay::simulator

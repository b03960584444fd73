#include "ranks/collective/local_reduction.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "compute/kernels/element_types.h"

namespace assay {
namespace {

template <typename T>
T reduced(DataType type, Reduction reduction, T a, T b) {
  T out;
  reduce_elements(type, reduction, &out, &a, &b, 1);
  return out;
}

TEST(LocalReduction, FloatsRoundOnce) {
  EXPECT_EQ(reduced(DataType::f32, Reduction::sum, 16777216.0f, 1.0f), 16777216.0f);
  EXPECT_EQ(reduced(DataType::f64, Reduction::sum, 16777216.0, 1.0), 16777217.0);
  EXPECT_EQ(reduced(DataType::f32, Reduction::prod, 3.0f, -0.5f), -1.5f);
  // 2048 + 1 and 2048 + 3 lie halfway between two f16 values; to even is down, then up.
  const F16 big = F16::encode(2048);
  EXPECT_EQ(reduced(DataType::f16, Reduction::sum, big, F16::encode(1)).decode(), 2048);
  EXPECT_EQ(reduced(DataType::f16, Reduction::sum, big, F16::encode(3)).decode(), 2052);
  const Bf16 small = Bf16::encode(256);
  EXPECT_EQ(reduced(DataType::bf16, Reduction::sum, small, Bf16::encode(1)).decode(), 256);
  EXPECT_EQ(reduced(DataType::bf16, Reduction::sum, small, Bf16::encode(3)).decode(), 260);
}

TEST(LocalReduction, OverflowFollowsTheType) {
  const F16 largest = F16::encode(65504);
  EXPECT_TRUE(std::isinf(reduced(DataType::f16, Reduction::sum, largest, largest).decode()));
  const E4m3 top = E4m3::encode(448);
  EXPECT_EQ(reduced(DataType::e4m3, Reduction::sum, top, top).decode(), 448);
  const E4m3Fnuz fnuz = E4m3Fnuz::encode(240);
  EXPECT_EQ(reduced(DataType::e4m3_fnuz, Reduction::sum, fnuz, fnuz).decode(), 240);
  EXPECT_EQ(reduced<std::int8_t>(DataType::i8, Reduction::sum, 127, 1), -128);
  EXPECT_EQ(reduced<std::uint8_t>(DataType::u8, Reduction::prod, 16, 17), 16);
  EXPECT_EQ(reduced<std::int32_t>(DataType::i32, Reduction::prod, 1 << 30, 4), 0);
  EXPECT_EQ(reduced<std::uint64_t>(DataType::u64, Reduction::sum, ~std::uint64_t{0}, 2), 1u);
}

TEST(LocalReduction, LeastAndGreatestKnowSigns) {
  EXPECT_EQ(reduced<std::int8_t>(DataType::i8, Reduction::min, -1, 1), -1);
  EXPECT_EQ(reduced<std::uint8_t>(DataType::u8, Reduction::min, 255, 1), 1);
  EXPECT_EQ(reduced<std::uint32_t>(DataType::u32, Reduction::max, ~0u, 1), ~0u);
  EXPECT_EQ(reduced<std::int64_t>(DataType::i64, Reduction::max, -5, -7), -5);
  EXPECT_EQ(reduced(DataType::e5m2, Reduction::min, E5m2::encode(-3), E5m2::encode(2)).decode(),
            -3);
}

TEST(LocalReduction, AveragesAddAndThenDivide) {
  EXPECT_EQ(reduced(DataType::f32, Reduction::avg, 1.0f, 2.0f), 3.0f);
  std::vector<float> f32 = {1, 9};
  divide_elements(DataType::f32, f32.data(), 3, 2);
  EXPECT_EQ(f32, (std::vector<float>{1.0f / 3, 3}));
  std::vector<std::int32_t> i32 = {-7, 7};
  divide_elements(DataType::i32, i32.data(), 2, 2);
  EXPECT_EQ(i32, (std::vector<std::int32_t>{-3, 3}));
  std::array<std::int8_t, 2> i8 = {-127, 100};
  divide_elements(DataType::i8, i8.data(), 256, 2);
  EXPECT_EQ(i8, (std::array<std::int8_t, 2>{0, 0})) << "256 is 0 as i8";
  std::uint64_t u64 = ~std::uint64_t{0};
  divide_elements(DataType::u64, &u64, 2, 1);
  EXPECT_EQ(u64, ~std::uint64_t{0} / 2);
  F16 f16 = F16::encode(10);
  divide_elements(DataType::f16, &f16, 4, 1);
  EXPECT_EQ(f16.decode(), 2.5f);
}

TEST(LocalReduction, WorksInPlaceOnManyElements) {
  std::vector<double> a(1001, 1), b(1001, 2);
  reduce_elements(DataType::f64, Reduction::sum, b.data(), a.data(), b.data(), 1000);
  EXPECT_EQ(b[999], 3);
  EXPECT_EQ(b[1000], 2);
}

}  // namespace
}  // namespace assay

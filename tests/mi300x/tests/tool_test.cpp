// Every kernel of ../shared/tools/gfx942/tool.hip against its meaning: cross-lane moves, atomics,
// scratch, matrices.
#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>
#include <functional>
#include <random>

#include "kernel_test.h"

namespace mi300x {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

const std::string tool = ASSAY_SOURCE_DIR "/../shared/tools/gfx942/tool.hip";
constexpr int lanes = 64;

class ToolTest : public ::testing::Test {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_COMPILER();
    if (!std::filesystem::exists(tool)) GTEST_SKIP() << tool << " is absent";
    module_ = Module::load(compile_file(tool, "gfx942"), "gfx942");
  }

  /// Runs a kernel of one wave, d[l] = e(x[l]).
  template <typename T>
  std::vector<T> one_wave(const char* kernel, const std::vector<T>& x) const {
    const Buffer<T> in(x), out(lanes);
    launch(module_, kernel, {{1}, {lanes}, 0}, usual, out.data(), in.data());
    return out.values();
  }

  std::shared_ptr<Module> module_;
};

template <typename T>
std::vector<T> numbers(int count, T first, T step) {
  std::vector<T> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = first + static_cast<T>(i) * step;
  return values;
}

TEST_F(ToolTest, MovesBetweenLanes) {
  constexpr int none = -1;  // the lane gets no value and keeps its old one
  struct Move {
    const char* kernel;
    std::function<int(int lane)> source;
  };
  const Move moves[] = {
      {"bpermute", [](int l) { return l ^ 17; }},
      {"permute", [](int l) { return l ^ 17; }},
      {"swizzle", [](int l) { return l ^ 16; }},
      {"swizzle_quad", [](int l) { return l ^ 1; }},
      {"dpp_quad", [](int l) { return l ^ 1; }},
      {"dpp_row_shr1", [](int l) { return l % 16 ? l - 1 : none; }},
      {"dpp_row_ror8", [](int l) { return l ^ 8; }},
      {"dpp_half_mirror", [](int l) { return l ^ 7; }},
      {"dpp_mirror", [](int l) { return l ^ 15; }},
      {"dpp_bcast15", [](int l) { return l / 16 % 2 ? l / 16 * 16 - 1 : none; }},
      {"dpp_bcast31", [](int l) { return l >= 32 ? 31 : none; }},
      {"dpp_newbcast3", [](int l) { return l / 16 * 16 + 3; }},
      {"dpp_wave_shr1", [](int l) { return l - 1; }},
  };
  const auto x = numbers(lanes, 1000, 7);
  for (const Move& move : moves) {
    const std::vector<int> got = one_wave(move.kernel, x);
    for (int l = 0; l < lanes; ++l) {
      const int from = move.source(l);
      EXPECT_EQ(got[l], from == none ? -1 : x[from]) << move.kernel << " lane " << l;
    }
  }
}

TEST_F(ToolTest, ReadsOfLanesBallotsAndCounts) {
  auto x = numbers(lanes, 11, 3);
  EXPECT_THAT(one_wave("readlane", x), testing::Each(x[37] + x[0]));

  const auto wide = numbers<u64>(lanes, 5, 3);
  u64 ballot = 0;
  for (int l = 0; l < lanes; ++l) ballot |= u64{(wide[l] & 5) == 1} << l;
  EXPECT_THAT(one_wave("ballot", wide), testing::Each(ballot));

  const auto masks = numbers<u32>(lanes, 0x12345, 0x9E3779B9);
  const std::vector<u32> counts = one_wave("mbcnt", masks);
  for (int l = 0; l < lanes; ++l) {
    const u64 below = (u64{1} << l) - 1, mask = u64{masks[l]} << 32 | masks[l];
    EXPECT_EQ(counts[l], static_cast<u32>(__builtin_popcountll(mask & below)));
  }

  const std::vector<u32> permuted = one_wave("perm", masks);
  for (int l = 0; l < lanes; ++l) {  // 7 6 of the first source, 3 2 of the second
    EXPECT_EQ(permuted[l], (masks[l] & 0xFFFF0000) | (~masks[l] >> 16));
  }
}

TEST_F(ToolTest, TranscendentalsAreWithinAUnitOfTheLastPlace) {
  struct Function {
    const char* kernel;
    double (*exact)(double);
  };
  const Function functions[] = {{"exp2", [](double v) { return std::exp2(v); }},
                                {"log2", [](double v) { return std::log2(v); }},
                                {"rcp", [](double v) { return 1 / v; }},
                                {"rsq", [](double v) { return 1 / std::sqrt(v); }}};
  const auto x = numbers(lanes, 0.03f, 0.37f);
  for (const Function& function : functions) {
    const std::vector<float> got = one_wave(function.kernel, x);
    for (int l = 0; l < lanes; ++l) {
      const auto exact = static_cast<float>(function.exact(x[l]));
      EXPECT_FLOAT_EQ(got[l], exact) << function.kernel << "(" << x[l] << ")";
    }
  }
}

TEST_F(ToolTest, Atomics) {
  constexpr u32 groups = 5, items = groups * lanes;
  const Buffer<u32> sum(std::vector<u32>{10, 0, 100, 7, 0});
  const Buffer<u64> sum64(1, u64{3});
  const Buffer<float> fsum(1, 0.0f);
  const Buffer<double> dsum(1, 0.5);
  const Buffer<u32> old(items, ~0u);
  launch(module_, "atomics", {{groups}, {lanes}, 0}, usual, sum.data(), sum64.data(), fsum.data(),
         dsum.data(), old.data());
  u32 most = 0, by_three = 0, chained = 7;
  for (u32 l = 0; l < items; ++l) most = std::max(most, l * 2654435761u);
  for (u32 group = 0; group < groups; ++group) chained = chained * 3 + 1;
  std::vector<bool> seen(items);
  for (u32 l = 0; l < items; l += 3, ++by_three) {
    ASSERT_LT(old[l] - 100, (items + 2) / 3);
    EXPECT_FALSE(seen[old[l] - 100]) << "two adds saw the same value";
    seen[old[l] - 100] = true;
  }
  constexpr u32 total = items * (items - 1) / 2;
  EXPECT_EQ(sum.values(), (std::vector<u32>{10 + total, most, 100 + by_three, chained, items}));
  EXPECT_EQ(sum64[0], 3 + (u64{total} << 30));
  EXPECT_EQ(dsum[0], 0.5 + total);
  EXPECT_EQ(old[1], ~0u);

  launch(module_, "fatomic", {{3}, {lanes}, 0}, usual, fsum.data());
  EXPECT_EQ(fsum[0], 3.0f * 2016);
}

TEST_F(ToolTest, PrivateArraysLieInScratch) {
  constexpr int groups = 2, threads = 256, steps = 50;
  const auto x = numbers(threads, 12345, 77);
  const Buffer<int> in(x), out(groups * threads);
  launch(module_, "spill", {{groups}, {threads}, 0}, usual, out.data(), in.data(), steps);
  for (int l = 0; l < groups * threads; ++l) {
    u32 a[64];
    for (int i = 0; i < 64; ++i) a[i] = static_cast<u32>(x[(l + i) & 255]);
    u32 at = static_cast<u32>(l);
    for (u32 i = 0; i < steps; ++i) {
      at = a[at & 63] + i;
      a[(at * 7) & 63] ^= at;
    }
    ASSERT_EQ(static_cast<u32>(out[l]), a[at & 63] + at) << "item " << l;
  }
}

float of_bf16(std::uint16_t bits) {
  const u32 wide = u32{bits} << 16;
  float value;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

TEST_F(ToolTest, AMatrixProductByTilesInLds) {
  constexpr int m = 256, n = 128, k = 96;
  std::mt19937 random(7);
  const auto small = [&random] {  // -8 to 7, exact in bf16
    const float value = static_cast<float>(static_cast<int>(random() % 16) - 8);
    u32 bits;
    std::memcpy(&bits, &value, sizeof bits);
    return static_cast<std::uint16_t>(bits >> 16);
  };
  std::vector<std::uint16_t> a(m * k), b(n * k);
  std::generate(a.begin(), a.end(), small);
  std::generate(b.begin(), b.end(), small);
  const Buffer<std::uint16_t> in_a(a), in_b(b);
  const Buffer<float> c(m * n);
  const auto report = launch(module_, "gemm_bf16", {{n / 128, m / 128}, {256}, 0}, usual, c.data(),
                             in_a.data(), in_b.data(), n, k);
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      float sum = 0;
      for (int l = 0; l < k; ++l) sum += of_bf16(a[i * k + l]) * of_bf16(b[j * k + l]);
      ASSERT_EQ(c[i * n + j], sum) << i << ", " << j;
    }
  }
  EXPECT_GT(report.seconds, 0);
}

TEST_F(ToolTest, AccumulationRegisters) {
  std::vector<float> a = numbers(lanes, -31.0f, 1.0f), b = numbers(lanes, 3.0f, 2.0f);
  const Buffer<float> in_a(a), in_b(b), out(4 * lanes);
  launch(module_, "agprs", {{1}, {lanes}, 0}, usual, out.data(), in_a.data(), in_b.data());
  for (int l = 0; l < lanes; ++l) {
    for (int r = 0; r < 4; ++r) {
      const int i = 4 * (l / 16) + r, j = l % 16;
      float sum = static_cast<float>(r + 1);
      for (int k = 0; k < 4; ++k) sum += a[16 * k + i] * b[16 * k + j];
      EXPECT_EQ(out[4 * l + r], sum) << "lane " << l << " register " << r;
    }
  }
}

TEST_F(ToolTest, DppReadsAllLanesBeforeItWritesOne) {
  const auto x = numbers(lanes, 5, 9);
  const std::vector<int> sums = one_wave("dpp_in_place", x);
  for (int l = 0; l < lanes; ++l)  // lanes without a source keep their values
    EXPECT_EQ(sums[l], l % 16 ? x[l - 1] + x[l] : x[l]) << l;

  const auto y = numbers(lanes, 20.0f, -1.5f);
  const std::vector<float> most = one_wave("dpp_max_in_place", y);
  for (int l = 0; l < lanes; ++l) EXPECT_EQ(most[l], std::max(y[l], y[l ^ 1]));
}

TEST_F(ToolTest, SumOfAWaveByDpp) {
  EXPECT_EQ(one_wave("wave_sum", numbers(lanes, 1.0f, 1.0f))[63], 2080.0f);
}

}  // namespace
}  // namespace mi300x

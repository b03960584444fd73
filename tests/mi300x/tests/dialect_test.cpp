// The kernel dialect of src/compute/kernels as machine code of both chips: exchanges between lanes,
// fast functions within their stated errors of the library's, random numbers equal to the host's,
// and tiles with both shapes of matrix instruction.
#include <gmock/gmock.h>

#include <cmath>
#include <functional>
#include <numeric>

#include "compute/kernels/random.h"
#include "kernel_test.h"

namespace mi300x {
namespace {

using testing::Each;
using Bfloat = ::Bf16;

class DialectTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_COMPILER();
    const std::string root = ASSAY_SOURCE_DIR;
    module_ = Module::load(compile_file(root + "/tests/mi300x/tests/dialect.hip", GetParam(),
                                        "-munsafe-fp-atomics -I" + root + "/src/compute/kernels"),
                           GetParam());
  }
  template <typename... T>
  void run(const char* kernel, unsigned blocks, unsigned threads, const T&... arguments) {
    launch(module_, kernel, {{blocks}, {threads}}, default_settings(), arguments...);
  }
  template <int N>
  void multiply(const char* kernel) {
    const auto value = [](unsigned i) { return Bfloat::encode(float(i * 2654435761u % 17) - 8); };
    std::vector<Bfloat> a(N * 16), b(16 * N);
    for (unsigned i = 0; i < a.size(); ++i) a[i] = value(i), b[i] = value(i + 1000);
    Buffer<Bfloat> left(a), right(b);
    Buffer<float> d(N * N), maxima(N * N);
    run(kernel, 1, 64, d.data(), maxima.data(), left.data(), right.data());
    for (int row = 0; row < N; ++row) {
      float most = -1e30f;
      for (int column = 0; column < N; ++column) {
        float sum = 0;  // sums of small integers are exact in any order
        for (int k = 0; k < 16; ++k) sum += a[row * 16 + k].decode() * b[k * N + column].decode();
        ASSERT_EQ(d[row * N + column], sum) << row << "," << column;
        most = std::max(most, sum);
      }
      for (int column = 0; column < N; ++column) ASSERT_EQ(maxima[row * N + column], most) << row;
    }
  }
  std::shared_ptr<Module> module_;
};
INSTANTIATE_TEST_SUITE_P(, DialectTest, testing::Values("gfx942", "gfx90a"),
                         [](const auto& test) { return std::string(test.param); });

TEST_P(DialectTest, LanesExchangeAndVote) {
  Buffer<u32> word(64);
  Buffer<double> wide(64);
  Buffer<u64> votes(65);
  run("shuffles", 1, 64, word.data(), wide.data(), votes.data());
  u64 thirds = 0;
  for (unsigned lane = 0; lane < 64; lane += 3) thirds |= u64{1} << lane;
  for (unsigned lane = 0; lane < 64; ++lane) {
    EXPECT_EQ(word[lane], 3 * ((lane + 5) % 64));
    EXPECT_EQ(wide[lane], 0.5 * (lane ^ 33));
    EXPECT_EQ(votes[lane], thirds);
  }
  EXPECT_EQ(votes[64], 2u);
}

TEST_P(DialectTest, ABlocksReductionIsTheSameInEveryThread) {
  for (const unsigned threads : {64u, 256u, 1024u}) {
    Buffer<u32> sums(threads);
    Buffer<float> least(threads);
    Buffer<u64> most(threads);
    run("reductions", 1, threads, sums.data(), least.data(), most.data());
    u64 largest = 0;
    for (unsigned i = 0; i < threads; ++i) largest = std::max<u64>(largest, i * 37 % 256);
    EXPECT_THAT(sums.values(), Each(threads * (threads - 1) / 2));
    EXPECT_THAT(least.values(), Each(-9.0f));
    EXPECT_THAT(most.values(), Each(largest << 33));
  }
}

TEST_P(DialectTest, AtomicsLoseNothing) {
  Buffer<u32> words(6, 0);
  Buffer<u64> wide(1, 0);
  Buffer<float> single(1, 0);
  Buffer<double> twice(1, 0);
  run("atomics", 8, 64, words.data(), wide.data(), single.data(), twice.data());
  constexpr unsigned threads = 512;
  EXPECT_EQ(words[0], threads * (threads - 1) / 2);
  EXPECT_EQ(wide[0], u64{threads * (threads - 1) / 2} << 32);
  EXPECT_EQ(single[0], 512.0f);
  EXPECT_EQ(twice[0], 128.0);
  EXPECT_EQ(words[1], 511u);
  EXPECT_NE(words[2], 0u);
  EXPECT_EQ(words[3], words[2]) << "exactly one thread exchanged it";
  EXPECT_EQ(words[5], 1u);
}

TEST_P(DialectTest, FunctionsKeepTheirErrors) {
  constexpr unsigned n = 256;
  std::vector<float> values(n);
  for (unsigned i = 0; i < n; ++i) values[i] = 0.05f + 0.07f * float(i);
  Buffer<float> x(values), out(6 * n);
  run("functions", 1, n, out.data(), x.data());
  const struct {
    std::function<double(double)> exact;
    double relative, absolute;
  } functions[] = {{[](double v) { return std::exp2(v); }, 0x1p-21, 0},
                   {[](double v) { return std::log2(v); }, 0x1p-21, 0x1p-21},
                   {[](double v) { return 1 / std::sqrt(v); }, 0x1p-21, 0},
                   // The argument of exp2 is rounded: |x| log2(e) 2^-24 ln 2 of the result.
                   {[](double v) { return std::exp(v); }, 0x1p-21 + 18 * 0x1p-24, 0},
                   {[](double v) { return 1 / v; }, 0x1p-21, 0},
                   {[](double v) { return std::tanh(v); }, 0, 0x1p-20}};
  for (int f = 0; f < 6; ++f) {
    for (unsigned i = 0; i < n; ++i) {
      const double exact = functions[f].exact(values[i]);
      EXPECT_NEAR(out[f * n + i], exact,
                  functions[f].relative * std::abs(exact) + functions[f].absolute)
          << f << " of " << values[i];
    }
  }
}

TEST_P(DialectTest, RandomNumbersAreTheHostsAndRoundWithoutBias) {
  constexpr unsigned n = 1024;
  constexpr u64 key = 0x123456789ABCDEF;
  const float value = 1 + 0.3f / 128;  // three tenths of the way from 1 to the next bf16
  Buffer<float> x(n, value);
  Buffer<u32> bits(n);
  Buffer<u16> rounded(n);
  run("randoms", 1, n, bits.data(), rounded.data(), x.data(), key);
  unsigned up = 0;
  for (unsigned i = 0; i < n; ++i) {
    ASSERT_EQ(bits[i], random_bits((u64{1} << 33) + i, key));
    ASSERT_EQ(rounded[i], round_stochastically(value, bits[i]).bits);
    ASSERT_TRUE(rounded[i] == 0x3F80 || rounded[i] == 0x3F81);
    up += rounded[i] == 0x3F81;
  }
  EXPECT_NEAR(up, 0.3 * n, 4 * std::sqrt(0.3 * 0.7 * n));
}

TEST_P(DialectTest, TilesMultiplyAndReduceTheirRows) {
  multiply<16>("product_16");
  multiply<32>("product_32");
}

TEST(RandomBits, EveryBitIsSetHalfTheTimeAndKeysDiffer) {
  constexpr unsigned n = 1 << 16;
  unsigned set[32] = {}, equal = 0;
  for (unsigned i = 0; i < n; ++i) {
    const u32 bits = random_bits(i, 1);
    for (unsigned b = 0; b < 32; ++b) set[b] += bits >> b & 1;
    equal += (bits & 0xFF) == (random_bits(i, 2) & 0xFF);
  }
  for (const unsigned count : set) EXPECT_NEAR(count, n / 2, 4.5 * std::sqrt(n / 4.0));
  EXPECT_NEAR(equal, n / 256, 4.5 * std::sqrt(n / 256.0));
}

TEST(RoundStochastically, FiniteStaysFinite) {
  for (const u32 random : {0u, 0x8000u, 0xFFFFu}) {
    EXPECT_TRUE(std::isfinite(round_stochastically(3.38e38f, random).decode()));
    EXPECT_EQ(round_stochastically(INFINITY, random).decode(), INFINITY);
    for (const u32 nan : {0x7FC00000u, 0xFFC00000u, 0x7FFFFFFFu, 0x7F800001u}) {
      EXPECT_TRUE(std::isnan(round_stochastically(float_of(nan), random).decode())) << nan;
    }
    EXPECT_EQ(round_stochastically(-2.5f, random).decode(), -2.5f);
  }
}

}  // namespace
}  // namespace mi300x

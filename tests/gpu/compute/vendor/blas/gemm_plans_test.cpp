// The cache of matrix plans with the vendor's library: the host time of a captured chain, and fp8
// with its factors.
#include "compute/vendor/blas/gemm_plans.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <random>

#include "compute/device/helpers.h"
#include "support/temporary_folder.h"
#include "support/test_device.h"

namespace assay {
namespace {

class GpuGemmPlans : public testing::Test {
 protected:
  void SetUp() override {
    auto backends = make_backends();
    auto device = open_device(backends, "");
    if (!device || (*device)->facts().max_threads_per_block == 1) {
      GTEST_SKIP() << "no accelerator on this machine";
    }
    device_ = std::move(device).value();
    stream_ = std::move(device_->create_stream()).value();
  }
  Buffer put(const void* values, std::size_t bytes) {
    Buffer buffer = std::move(device_->allocate(bytes, MemoryKind::device)).value();
    EXPECT_TRUE(stream_->copy(buffer.data(), values, bytes));
    EXPECT_TRUE(stream_->synchronize());
    return buffer;
  }

  const TemporaryFolder folder_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
};

TEST_F(GpuGemmPlans, ACapturedChainCostsTheHostLittle) {
  constexpr int products = 1000, replays = 20;
  GemmPlans plans(*device_, *stream_, {}, ChoiceCache(folder_.path()));
  const GemmProblem problem = make_gemm(256, 256, 256, DataType::bf16, DataType::bf16);
  const std::vector<std::uint16_t> zeros(256 * 256);
  const Buffer a = put(zeros.data(), 2 * zeros.size()), b = put(zeros.data(), 2 * zeros.size());
  const Buffer d = put(zeros.data(), 2 * zeros.size());
  GemmOperands operands;
  operands.a = a.data();
  operands.b = b.data();
  operands.c = operands.d = d.data();
  ASSERT_TRUE(plans.enqueue(*stream_, problem, operands));
  ASSERT_TRUE(stream_->synchronize());

  using Clock = std::chrono::steady_clock;
  const auto seconds = [](Clock::time_point since) {
    return std::chrono::duration<double>(Clock::now() - since).count();
  };
  const auto submitting = Clock::now();
  for (int i = 0; i < products; ++i) ASSERT_TRUE(plans.enqueue(*stream_, problem, operands));
  const double submitted = seconds(submitting) / products;
  ASSERT_TRUE(stream_->synchronize());

  ASSERT_TRUE(stream_->begin_capture());
  const auto capturing = Clock::now();
  for (int i = 0; i < products; ++i) ASSERT_TRUE(plans.enqueue(*stream_, problem, operands));
  const double captured = seconds(capturing) / products;
  auto graph = stream_->end_capture();
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  ASSERT_TRUE(stream_->launch(**graph));
  ASSERT_TRUE(stream_->synchronize());
  double replayed = 1;
  for (int i = 0; i < replays; ++i) {
    const auto begin = Clock::now();
    ASSERT_TRUE(stream_->launch(**graph));
    replayed = std::min(replayed, seconds(begin) / products);
    ASSERT_TRUE(stream_->synchronize());
  }
  std::printf("host time of a product: submitted %.3f us, captured %.3f us, replayed %.3f us\n",
              1e6 * submitted, 1e6 * captured, 1e6 * replayed);
  EXPECT_LT(replayed, 1.5e-6);
}

/// Encodes small multiples of 1/8, which e4m3 holds exactly. `bias`: 7, or 8 for FNUZ.
std::uint8_t e4m3_of(float value, int bias) {
  if (value == 0) return 0;
  int exponent = 0;
  const float fraction = std::frexp(std::fabs(value), &exponent);  // in [0.5, 1)
  const int mantissa = static_cast<int>(fraction * 16) - 8;
  return static_cast<std::uint8_t>((value < 0 ? 0x80 : 0) | (exponent - 1 + bias) << 3 | mantissa);
}
float of_e4m3(std::uint8_t code, int bias) {
  const int exponent = code >> 3 & 15, mantissa = code & 7;
  const float magnitude = exponent == 0
                              ? std::ldexp(static_cast<float>(mantissa), -2 - bias)
                              : std::ldexp(1 + static_cast<float>(mantissa) / 8, exponent - bias);
  return code & 0x80 ? -magnitude : magnitude;
}

TEST_F(GpuGemmPlans, Fp8TakesItsFactorsAndGivesItsLargest) {
  const bool fnuz = device_->facts().backend == "hip";
  const int bias = fnuz ? 8 : 7;
  const DataType fp8 = fnuz ? DataType::e4m3_fnuz : DataType::e4m3;
  constexpr int n = 128;
  GemmProblem problem = make_gemm(n, n, n, fp8, DataType::bf16, false, true);
  problem.d = fp8;
  problem.scales_a = problem.scales_b = problem.scales_d = problem.writes_amax_d = true;
  std::mt19937 random(1);
  std::uniform_int_distribution<int> eighths(-8, 8);
  std::vector<float> a(n * n), b(n * n);
  std::vector<std::uint8_t> a_codes, b_codes;
  for (float& value : a)
    a_codes.push_back(e4m3_of(value = static_cast<float>(eighths(random)) / 8, bias));
  for (float& value : b)
    b_codes.push_back(e4m3_of(value = static_cast<float>(eighths(random)) / 8, bias));
  const std::vector<std::uint16_t> c(n * n);
  constexpr int apart = 64;  // a library may require aligned addresses
  std::vector<float> factors(4 * apart);
  factors[0] = 2, factors[apart] = 0.5, factors[2 * apart] = 0.25, factors[3 * apart] = -1;
  const Buffer on_a = put(a_codes.data(), a_codes.size()),
               on_b = put(b_codes.data(), b_codes.size());
  const Buffer on_c = put(c.data(), 2 * c.size()), on_d = put(a_codes.data(), a_codes.size());
  const Buffer on_factors = put(factors.data(), 4 * factors.size());
  GemmOperands operands;
  operands.a = on_a.data();
  operands.b = on_b.data();
  operands.c = on_c.data();
  operands.d = on_d.data();
  operands.scale_a = on_factors.as<float>();
  operands.scale_b = on_factors.as<float>() + apart;
  operands.scale_d = on_factors.as<float>() + 2 * apart;
  operands.amax_d = on_factors.as<float>() + 3 * apart;
  GemmPlans plans(*device_, *stream_, {}, ChoiceCache(folder_.path()));
  const Status queued = plans.enqueue(*stream_, problem, operands);
  ASSERT_TRUE(queued.ok()) << queued.error().message;
  const auto d = read_back<std::uint8_t>(*stream_, on_d.data(), n * n);
  const auto factors_after = read_back<float>(*stream_, on_factors.data(), 4 * apart);
  ASSERT_TRUE(d.ok() && factors_after.ok());

  float largest = 0;
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      float sum = 0;  // exact: multiples of 1/64 below 2^24
      for (int k = 0; k < n; ++k) sum += a[i * n + k] * b[j * n + k];
      const float product = factors[0] * factors[apart] * sum;
      largest = std::max(largest, std::fabs(product));
      const float expected = product * factors[2 * apart];
      // Half a step of 3 fraction bits; below the least normal value, half of its step.
      const float step = std::max(std::fabs(expected) / 16, std::ldexp(1.0f, -3 - bias));
      ASSERT_NEAR(of_e4m3((*d)[i * n + j], bias), expected, step) << i << ", " << j;
    }
  }
  EXPECT_EQ((*factors_after)[3 * apart], largest);
}

TEST_F(GpuGemmPlans, AProductLeavesMultiprocessorsToOthers) {
  if (device_->facts().backend != "cuda") GTEST_SKIP() << "only cublaslt takes a number of them";
  GemmPlans plans(*device_, *stream_, {.measure = false}, ChoiceCache(""));
  GemmProblem problem = make_gemm(4096, 4096, 4096, DataType::bf16, DataType::bf16);
  const std::vector<std::uint16_t> ones(std::size_t{4096} * 4096, 0x3F80);
  const Buffer a = put(ones.data(), 2 * ones.size()), d = put(ones.data(), 2 * ones.size());
  GemmOperands operands;
  operands.a = operands.b = a.data();
  operands.c = operands.d = d.data();
  const auto start = std::move(device_->create_event()).value();
  const auto stop = std::move(device_->create_event()).value();
  const auto seconds_with = [&](int multiprocessors) {
    problem.multiprocessors = multiprocessors;
    for (int warm = 0; warm < 5; ++warm) EXPECT_TRUE(plans.enqueue(*stream_, problem, operands));
    EXPECT_TRUE(stream_->record(*start));
    for (int i = 0; i < 20; ++i) EXPECT_TRUE(plans.enqueue(*stream_, problem, operands));
    EXPECT_TRUE(stream_->record(*stop));
    EXPECT_TRUE(stream_->synchronize());
    return stop->seconds_since(*start).value() / 20;
  };
  const double whole = seconds_with(0);
  const double quarter = seconds_with(device_->facts().multiprocessors / 4);
  const auto values = read_back<std::uint16_t>(*stream_, d.data(), 1000).value();
  for (const std::uint16_t value : values) ASSERT_EQ(value, 0x4580);  // 4096
  std::printf("4096^3 on a quarter of the multiprocessors takes %.2f times as long\n",
              quarter / whole);
  EXPECT_GT(quarter, 1.5 * whole);
}

}  // namespace
}  // namespace assay

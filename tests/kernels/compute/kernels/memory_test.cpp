// src/compute/kernels/memory.cu in every build against plain double-precision loops, with sizes
// that leave every kind of remainder.
#include <gtest/gtest.h>

#include <numeric>

#include "support/kernel_test.h"

namespace assay {
namespace {

using Size = std::uint64_t;
const std::vector<Size> awkward_sizes = {1,  2,  3,   7,   15,   16,   17,    63,
                                         64, 65, 255, 257, 1000, 4099, 100003};

/// The formula of input_value in memory.cu, implemented again.
double input_value(Size i, Size which) {
  Size x = (i + 1) * 0x9E3779B97F4A7C15ull + which * 0xD1B54A32D192ED03ull;
  x ^= x >> 32;
  x *= 0xD6E8FEB86659FD93ull;
  return static_cast<double>(x >> 54);
}

double expected(const std::string& operation, Size i) {
  const double a = input_value(i, 0), b = input_value(i, 1);
  if (operation == "copy") return a;
  if (operation == "mul") return 3 * a;
  if (operation == "add") return a + b;
  if (operation == "triad") return a + 3 * b;
  return 3;
}

class MemoryKernels : public KernelTest {
 protected:
  void SetUp() override {
    KernelTest::SetUp();
    if (stream_ == nullptr) return;
    program_ = std::move(device_->build({"memory", {}})).value();
  }

  template <typename T>
  Buffer input(Size n, unsigned which, const std::string& suffix) {
    Buffer buffer = allocate(n * sizeof(T));
    run("initialize_" + suffix, buffer.as<T>(), n, which);
    return buffer;
  }

  template <typename... Arguments>
  void run(const std::string& kernel, Arguments... arguments) {
    const auto status =
        launch(*stream_, *program_->kernel(kernel).value(), {{blocks}, {256}}, arguments...);
    ASSERT_TRUE(status) << status.error().message;
    ASSERT_TRUE(stream_->synchronize());
  }
  /// What the kernel writes per block: `per_block` values of T, through its first argument.
  template <typename T, typename... Arguments>
  std::vector<T> results(const std::string& kernel, std::size_t per_block, Arguments... arguments) {
    const Buffer found = allocate(blocks * per_block * sizeof(T));
    run(kernel, found.as<T>(), arguments...);
    return download<T>(found.data(), blocks * per_block);
  }

  template <typename T>
  void check_operations(const std::string& suffix) {
    for (const Size n : awkward_sizes) {
      const Buffer a = input<T>(n, 0, suffix), b = input<T>(n, 1, suffix);
      const auto inputs_a = download<T>(a.data(), n), inputs_b = download<T>(b.data(), n);
      for (Size i = 0; i < n; ++i) {
        ASSERT_EQ(inputs_a[i], input_value(i, 0));
        ASSERT_EQ(inputs_b[i], input_value(i, 1));
      }
      for (const std::string operation : {"copy", "mul", "add", "triad", "write"}) {
        for (const int hints : {0, 1, 2, 3}) {
          // Guard elements after the output reveal a write past its end.
          const Buffer out = upload(std::vector<T>(n + 64, T{-1}));
          run(operation + "_" + suffix, out.as<T>(), a.as<T>(), b.as<T>(), n, hints);
          const auto values = download<T>(out.data(), n + 64);
          for (Size i = 0; i < n; ++i) {
            ASSERT_EQ(values[i], expected(operation, i)) << operation << " n=" << n << " i=" << i;
          }
          for (Size i = n; i < n + 64; ++i) ASSERT_EQ(values[i], -1) << operation << " n=" << n;
        }
      }
    }
  }

  template <typename T>
  void check_reductions(const std::string& suffix, double tolerance) {
    const auto total = [](const auto& parts) {
      return std::accumulate(parts.begin(), parts.end(), 0.0);
    };
    for (const Size n : awkward_sizes) {
      const Buffer a = input<T>(n, 0, suffix), b = input<T>(n, 1, suffix);
      double sum = 0, product = 0;
      for (Size i = 0; i < n; ++i) {
        sum += input_value(i, 0);
        product += input_value(i, 0) * input_value(i, 1);
      }
      EXPECT_NEAR(total(results<T>("read_" + suffix, 1, a.as<T>(), b.as<T>(), n, 0)), sum,
                  tolerance * sum)
          << n;
      EXPECT_NEAR(total(results<T>("dot_" + suffix, 1, a.as<T>(), b.as<T>(), n, 0)), product,
                  tolerance * product)
          << n;
      EXPECT_EQ(total(results<std::uint64_t>("exact_sum", 1, n, 1)), sum);
      EXPECT_EQ(total(results<std::uint64_t>("exact_sum", 1, n, 2)), product);
    }
  }

  static constexpr unsigned blocks = 3;
  std::unique_ptr<Program> program_;
};

TEST_P(MemoryKernels, EveryElementOfEveryOperation) {
  check_operations<float>("f32");
  check_operations<double>("f64");
}

TEST_P(MemoryKernels, ReductionsMatchDoublePrecision) {
  check_reductions<float>("f32", 1e-5);
  check_reductions<double>("f64", 1e-14);
}

TEST_P(MemoryKernels, CheckFindsAPlantedWrongElement) {
  constexpr Size n = 100003;
  const Buffer out = allocate(n * sizeof(float));
  const Buffer a = input<float>(n, 0, "f32"), b = input<float>(n, 1, "f32");
  run("triad_f32", out.as<float>(), a.as<float>(), b.as<float>(), n, 0);
  auto found = results<std::uint64_t>("check_f32", 2, out.as<float>(), n, 3);
  EXPECT_EQ(found[0] + found[2] + found[4], 0u);
  const float right = download<float>(out.as<float>() + 70001, 1)[0];
  write(out.as<float>() + 70001, std::vector{right + 1, std::numeric_limits<float>::quiet_NaN()});
  found = results<std::uint64_t>("check_f32", 2, out.as<float>(), n, 3);
  EXPECT_EQ(found[0] + found[2] + found[4], 2u);
  EXPECT_EQ(std::min({found[1], found[3], found[5]}), 70001u);
}

TEST_P(MemoryKernels, CheckReadsDoublesToo) {
  constexpr Size n = 1003;
  const Buffer a = input<double>(n, 0, "f64");
  auto found = results<std::uint64_t>("check_f64", 2, a.as<double>(), n, 0);
  EXPECT_EQ(found[0] + found[2] + found[4], 0u);
  write(a.as<double>() + 700, std::vector{-1.0});
  found = results<std::uint64_t>("check_f64", 2, a.as<double>(), n, 0);
  EXPECT_EQ(found[0] + found[2] + found[4], 1u);
}

ASSAY_KERNEL_BUILDS(MemoryKernels);

}  // namespace
}  // namespace assay

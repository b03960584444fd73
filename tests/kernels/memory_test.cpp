// src/kernels/memory.cu on the CPU, in every instruction-set build this machine runs, against plain
// double-precision loops, over sizes that leave every kind of remainder.
#include <gtest/gtest.h>

#include <cstdlib>
#include <numeric>

#include "device/helpers.h"
#include "test_device.h"

namespace assay {
namespace {

using Size = std::uint64_t;
const std::vector<Size> awkward_sizes = {1,  2,  3,   7,   15,   16,   17,    63,
                                         64, 65, 255, 257, 1000, 4099, 100003};

/// The formula of input_value in memory.cu, written again.
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

class MemoryKernels : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    setenv("ASSAY_CPU_VARIANT", GetParam().c_str(), 1);
    device_ = open_test_device("cpu");
    unsetenv("ASSAY_CPU_VARIANT");
    std::string arch = GetParam();
    for (char& c : arch) c = c == '_' ? '-' : c;
    if (device_->facts().arch != arch) {
      GTEST_SKIP() << "this CPU has no " << arch;
    }
    stream_ = std::move(device_->create_stream()).value();
    program_ = std::move(device_->build({"memory", {}})).value();
  }

  template <typename T>
  Buffer input(Size n, unsigned which, const std::string& suffix) {
    Buffer buffer = std::move(device_->allocate(n * sizeof(T), MemoryKind::device)).value();
    run("initialize_" + suffix, buffer.as<T>(), n, which);
    return buffer;
  }

  template <typename... Arguments>
  void run(const std::string& kernel, Arguments... arguments) {
    const auto status =
        launch(*stream_, *program_->kernel(kernel).value(), {{3}, {256}}, arguments...);
    ASSERT_TRUE(status) << status.error().message;
    ASSERT_TRUE(stream_->synchronize());
  }

  template <typename T>
  void check_operations(const std::string& suffix) {
    for (const Size n : awkward_sizes) {
      const Buffer a = input<T>(n, 0, suffix), b = input<T>(n, 1, suffix);
      for (Size i = 0; i < n; ++i) {
        ASSERT_EQ(a.as<T>()[i], input_value(i, 0));
        ASSERT_EQ(b.as<T>()[i], input_value(i, 1));
      }
      for (const std::string operation : {"copy", "mul", "add", "triad", "write"}) {
        for (const int hints : {0, 1, 2, 3}) {
          // Guard elements behind the output show a write past its end.
          Buffer out =
              std::move(device_->allocate((n + 64) * sizeof(T), MemoryKind::device)).value();
          std::fill_n(out.as<T>(), n + 64, T{-1});
          run(operation + "_" + suffix, out.as<T>(), a.as<T>(), b.as<T>(), n, hints);
          for (Size i = 0; i < n; ++i) {
            ASSERT_EQ(out.as<T>()[i], expected(operation, i))
                << operation << " n=" << n << " i=" << i;
          }
          for (Size i = n; i < n + 64; ++i)
            ASSERT_EQ(out.as<T>()[i], -1) << operation << " n=" << n;
        }
      }
    }
  }

  template <typename T>
  void check_reductions(const std::string& suffix, double tolerance) {
    for (const Size n : awkward_sizes) {
      const Buffer a = input<T>(n, 0, suffix), b = input<T>(n, 1, suffix);
      double sum = 0, product = 0;
      for (Size i = 0; i < n; ++i) {
        sum += input_value(i, 0);
        product += input_value(i, 0) * input_value(i, 1);
      }
      T partial[3];
      run("read_" + suffix, partial, a.as<T>(), b.as<T>(), n, 0);
      EXPECT_NEAR(std::accumulate(partial, partial + 3, 0.0), sum, tolerance * sum) << n;
      run("dot_" + suffix, partial, a.as<T>(), b.as<T>(), n, 0);
      EXPECT_NEAR(std::accumulate(partial, partial + 3, 0.0), product, tolerance * product) << n;
      std::uint64_t exact[3];
      run("exact_sum", exact, n, 1);
      EXPECT_EQ(static_cast<double>(exact[0] + exact[1] + exact[2]), sum);
      run("exact_sum", exact, n, 2);
      EXPECT_EQ(static_cast<double>(exact[0] + exact[1] + exact[2]), product);
    }
  }

  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
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
  Buffer out = std::move(device_->allocate(n * sizeof(float), MemoryKind::device)).value();
  const Buffer a = input<float>(n, 0, "f32"), b = input<float>(n, 1, "f32");
  run("triad_f32", out.as<float>(), a.as<float>(), b.as<float>(), n, 0);
  std::uint64_t found[6];
  run("check_f32", found, out.as<float>(), n, 3);
  EXPECT_EQ(found[0] + found[2] + found[4], 0u);
  out.as<float>()[70001] += 1;
  out.as<float>()[70002] = std::numeric_limits<float>::quiet_NaN();
  run("check_f32", found, out.as<float>(), n, 3);
  EXPECT_EQ(found[0] + found[2] + found[4], 2u);
  EXPECT_EQ(std::min({found[1], found[3], found[5]}), 70001u);
}

std::vector<std::string> variants() {
#if defined(__x86_64__)
  return {"x86_64_v2", "x86_64_v3", "x86_64_v4"};
#else
  return {"generic"};
#endif
}
INSTANTIATE_TEST_SUITE_P(Variants, MemoryKernels, testing::ValuesIn(variants()),
                         [](const auto& variant) { return variant.param; });

}  // namespace
}  // namespace assay

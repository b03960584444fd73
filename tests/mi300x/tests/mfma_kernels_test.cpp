// Compiled kernels of one matrix instruction each (../shared/tools/gfx942/mfma.hip), and of
// conversions to and from 8-bit floats, through a launch.
#include <filesystem>
#include <random>

#include "kernel_test.h"
#include "matrix_geometry.h"

namespace mi300x {
namespace {

constexpr const char* source = ASSAY_SOURCE_DIR "/../shared/tools/gfx942/mfma.hip";
constexpr Settings settings;

class MfmaKernels : public ::testing::Test {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_COMPILER();
    if (!std::filesystem::exists(source)) GTEST_SKIP() << source << " is not there";
    static const auto compiled = Module::load(compile_file(source, "gfx942"), "gfx942");
    module_ = compiled;
  }
  template <typename... T>
  void run_wave(const std::string& kernel, const T&... arguments) const {
    launch(module_, kernel, {{1}, {64}, 0}, settings, arguments...);
  }

  std::shared_ptr<Module> module_;
};

/// Stores the elements of all lanes, lane by lane, as a kernel expects them.
void put(std::vector<char>& bytes, int element, int bits, u64 code) {
  std::memcpy(bytes.data() + element * bits / 8, &code, std::size_t(bits / 8));
}

struct Named {
  const char* kernel;
  const char* instruction;
};
constexpr Named kernels[] = {
    {"bf16_16x16x16", "v_mfma_f32_16x16x16_bf16"},
    {"bf16_32x32x8", "v_mfma_f32_32x32x8_bf16"},
    {"f16_16x16x16", "v_mfma_f32_16x16x16_f16"},
    {"f16_32x32x8", "v_mfma_f32_32x32x8_f16"},
    {"fp8_16x16x32", "v_mfma_f32_16x16x32_fp8_fp8"},
    {"fp8_32x32x16", "v_mfma_f32_32x32x16_fp8_fp8"},
    {"bf8_16x16x32", "v_mfma_f32_16x16x32_bf8_bf8"},
    {"fp8bf8_16x16x32", "v_mfma_f32_16x16x32_fp8_bf8"},
    {"i8_16x16x32", "v_mfma_i32_16x16x32_i8"},
    {"i8_32x32x16", "v_mfma_i32_32x32x16_i8"},
    {"f32_16x16x4", "v_mfma_f32_16x16x4_f32"},
    {"f32_32x32x2", "v_mfma_f32_32x32x2_f32"},
    {"xf32_16x16x8", "v_mfma_f32_16x16x8_xf32"},
    {"xf32_32x32x4", "v_mfma_f32_32x32x4_xf32"},
    {"f64_16x16x4", "v_mfma_f64_16x16x4_f64"},
    {"f16_4x4x4", "v_mfma_f32_4x4x4_16b_f16"},
};

/// Small integers: every sum is exact, so plain sums of doubles give the result.
TEST_F(MfmaKernels, MultiplyAsPlainSumsDo) {
  std::mt19937 random(11);
  const auto small = [&] { return double(int(random() % 9) - 4); };
  for (const auto& [kernel, instruction] : kernels) {
    SCOPED_TRACE(kernel);
    const Geometry g(instruction);
    const std::string result = g.a_type == "i8" ? "i32" : g.result_words == 2 ? "f64" : "f32";
    const int result_bits = 32 * g.result_words;
    std::vector<double> a(std::size_t(g.blocks * g.size * g.k)), b(a.size());
    std::vector<char> a_bytes(a.size() * std::size_t(g.bits) / 8), b_bytes(a_bytes.size());
    for (int lane = 0; lane < 64; ++lane)
      for (int n = 0; n < g.b_count(); ++n) {
        const int k = g.group(lane) * g.b_count() + n;
        const std::size_t at = std::size_t((g.block(lane) * g.size + g.row(lane)) * g.k + k);
        put(a_bytes, lane * g.b_count() + n, g.bits, encode(g.a_type, a[at] = small()));
        put(b_bytes, lane * g.b_count() + n, g.bits, encode(g.b_type, b[at] = small()));
      }

    std::vector<char> c_bytes(std::size_t(64 * g.d_count() * result_bits / 8)),
        expected(c_bytes.size());
    for (int block = 0; block < g.blocks; ++block)
      for (int i = 0; i < g.size; ++i)
        for (int j = 0; j < g.size; ++j) {
          const auto [first, lane] = g.place_of_d(block, i, j);
          const int element = lane * g.d_count() + first / g.result_words;
          const double c = small();
          double sum = c;
          for (int k = 0; k < g.k; ++k)
            sum += a[std::size_t((block * g.size + i) * g.k + k)] *
                   b[std::size_t((block * g.size + j) * g.k + k)];
          put(c_bytes, element, result_bits, encode(result, c));
          put(expected, element, result_bits, encode(result, sum));
        }

    const Buffer<char> in_a(a_bytes), in_b(b_bytes), in_c(c_bytes), d(expected.size());
    run_wave(kernel, d.data(), in_a.data(), in_b.data(), in_c.data());
    EXPECT_EQ(d.values(), expected);
  }
}

/// Returns the value of an fp8 or bf8 of gfx942 by its definition: no -0, no infinity, one NaN.
double value_of(u32 code, int fraction_bits, int bias) {
  if (code == 0x80) return NAN;
  const int exponent = int(code & 0x7F) >> fraction_bits;
  const int fraction = int(code & ((1u << fraction_bits) - 1));
  const double magnitude =
      exponent == 0 ? std::ldexp(fraction, 1 - bias - fraction_bits)
                    : std::ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits);
  return code & 0x80 ? -magnitude : magnitude;
}

struct Narrow {
  const char* name;
  int fraction_bits, bias;
};
constexpr Narrow narrow_types[] = {{"fp8", 3, 8}, {"bf8", 2, 16}};

TEST_F(MfmaKernels, EveryCodeIsWidened) {
  for (const Narrow& type : narrow_types) {
    std::vector<int> codes;
    for (u32 lane = 0; lane < 64; ++lane) codes.push_back(int(0x03020100 + lane * 0x04040404));
    const Buffer<int> x(codes);
    const Buffer<float> out(256);
    run_wave(std::string("cvt_f32_") + type.name, out.data(), x.data());
    for (u32 code = 0; code < 256; ++code) {
      const double expected = value_of(code, type.fraction_bits, type.bias);
      if (std::isnan(expected))
        EXPECT_TRUE(std::isnan(out[code])) << type.name << " " << code;
      else
        EXPECT_EQ(out[code], expected) << type.name << " " << code;
    }
  }
}

/// Returns the nearest code, the even one in a tie; tries all codes.
u32 nearest(double value, const Narrow& type) {
  u32 best = 0;
  for (u32 code = 0; code < 256; ++code) {
    if (code == 0x80) continue;
    const double distance = std::fabs(value_of(code, type.fraction_bits, type.bias) - value);
    const double least = std::fabs(value_of(best, type.fraction_bits, type.bias) - value);
    if (distance < least || (distance == least && code % 2 == 0 && best % 2 == 1)) best = code;
  }
  return best;
}

TEST_F(MfmaKernels, FloatsAreRoundedToTheNearestCode) {
  std::mt19937 random(12);
  for (const Narrow& type : narrow_types) {
    const float largest = float(value_of(0x7F, type.fraction_bits, type.bias));
    std::vector<float> values;
    for (int n = 0; n < 128; ++n) {
      if (n % 2 == 0) {  // halfway between two codes
        const u32 code = 2 + random() % 0x7C, sign = random() % 2 * 0x80;
        values.push_back(float((value_of(code | sign, type.fraction_bits, type.bias) +
                                value_of((code + 1) | sign, type.fraction_bits, type.bias)) /
                               2));
      } else {
        values.push_back(largest * std::ldexp(float(random()) / 0x1p31f - 1, -int(random() % 18)));
      }
    }
    const Buffer<float> x(values);
    const Buffer<u32> out(64);
    run_wave(std::string("cvt_") + type.name, out.data(), x.data());
    for (std::size_t n = 0; n < 128; ++n)
      EXPECT_EQ(out[n / 2] >> (n % 2 * 8) & 0xFF, nearest(values[n], type))
          << type.name << " of " << values[n];
  }
}

}  // namespace
}  // namespace mi300x

// Every matrix instruction against plain sums, its modifiers, and the roundings of both chips.
#include <gmock/gmock.h>

#include <random>

#include "emulator/fault.h"
#include "hand_made_wave.h"
#include "matrix_geometry.h"

namespace mi300x {
namespace {

std::string range(char file, int first, int count) {
  if (count == 1) return file + std::to_string(first);
  return std::string(1, file) + "[" + std::to_string(first) + ":" +
         std::to_string(first + count - 1) + "]";
}

/// One multiplication: matrices of doubles are put into registers, multiplied and read back.
class Multiplication {
 public:
  static constexpr int a_base = 0, b_base = 16, index_base = 30, c_base = 32, d_base = 64;

  explicit Multiplication(const std::string& name)
      : g(name), a(g.blocks * g.size * g.k), b(a), c(g.blocks * g.size * g.size), d(c) {}

  double& a_at(int block, int i, int k) { return a[(block * g.size + i) * g.k + k]; }
  double& b_at(int block, int k, int j) { return b[(block * g.k + k) * g.size + j]; }
  double& c_at(int block, int i, int j) { return c[(block * g.size + i) * g.size + j]; }
  double d_at(int block, int i, int j) const { return d[(block * g.size + i) * g.size + j]; }

  void fill(unsigned seed) {
    std::mt19937 random(seed);
    const auto small = [&] { return double(int(random() % 7) - 3); };
    for (double& x : a) x = small();
    for (double& x : b) x = small();
    for (double& x : c) x = small();
    if (g.sparse) {  // two of four neighbours are kept
      static const int pairs[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
      for (int i = 0; i < g.size; ++i)
        for (int k = 0; k < g.k; k += 4) {
          const int* kept = pairs[random() % 6];
          kept_.push_back(kept);
          for (int n = 0; n < 4; ++n)
            if (n != kept[0] && n != kept[1]) a_at(0, i, k + n) = 0;
        }
    }
  }

  void execute(const std::string& modifiers = "", bool constant_c = false) {
    put_operands();
    const std::string index = g.sparse     ? range('v', index_base, 1)
                              : constant_c ? "1.0"
                                           : range('a', c_base, g.d_count() * g.result_words);
    for_each_c([&](int first, int lane, double value) {
      put(256 + c_base, first, lane, value);
      if (g.sparse) put(256 + d_base, first, lane, value);
    });
    wave.wave.set_exec(0);  // matrix instructions ignore EXEC
    wave.execute(g.name + " " + range('a', d_base, g.d_count() * g.result_words) + ", " +
                     range('v', a_base, g.a_count() * g.bits / 32 ? g.a_count() * g.bits / 32 : 1) +
                     ", " + range('v', b_base, g.b_count() * g.bits / 32) + ", " + index +
                     modifiers,
                 g.arch());
    for_each_c([&](int first, int lane, double& value) { value = get(256 + d_base, first, lane); },
               &d);
  }

  /// Returns A * B + C in double.
  std::vector<double> expected() {
    std::vector<double> sums;
    for (int block = 0; block < g.blocks; ++block)
      for (int i = 0; i < g.size; ++i)
        for (int j = 0; j < g.size; ++j) {
          double sum = c_at(block, i, j);
          for (int k = 0; k < g.k; ++k) sum += a_at(block, i, k) * b_at(block, k, j);
          sums.push_back(sum);
        }
    return sums;
  }

  Geometry g;
  std::vector<double> a, b, c, d;
  HandMadeWave wave;

 private:
  void put_element(int base, int lane, int n, u64 code) {
    const int bit = n * g.bits;
    u32& word = wave.wave.vector[base + bit / 32].lane[lane];
    if (g.bits == 64) {
      word = u32(code);
      wave.wave.vector[base + bit / 32 + 1].lane[lane] = u32(code >> 32);
    } else {
      const u32 mask = g.bits == 32 ? ~0u : ((1u << g.bits) - 1) << bit % 32;
      word = (word & ~mask) | u32(code) << bit % 32;
    }
  }
  void put_operands() {
    for (int lane = 0; lane < 64; ++lane) {
      const int row = g.row(lane), block = g.block(lane), group = g.group(lane);
      for (int n = 0; n < g.b_count(); ++n)
        put_element(b_base, lane, n, encode(g.b_type, b_at(block, group * g.b_count() + n, row)));
      u32 indices = 0;
      for (int n = 0; n < g.a_count(); ++n) {
        int k = group * g.a_count() + n;
        if (g.sparse) {
          const int kept = kept_[row * (g.k / 4) + k / 2][k % 2];
          indices |= u32(kept) << (2 * n);
          k = k / 2 * 4 + kept;
        }
        put_element(a_base, lane, n, encode(g.a_type, a_at(block, row, k)));
      }
      wave.wave.vector[index_base].lane[lane] = indices;
    }
  }
  template <class Body>
  void for_each_c(Body body, std::vector<double>* matrix = nullptr) {
    std::vector<double>& values = matrix ? *matrix : c;
    for (int block = 0; block < g.blocks; ++block)
      for (int i = 0; i < g.size; ++i)
        for (int j = 0; j < g.size; ++j) {
          const auto [first, lane] = g.place_of_d(block, i, j);
          body(first, lane, values[(block * g.size + i) * g.size + j]);
        }
  }
  void put(int base, int first, int lane, double value) {
    const u64 code = encode(g.a_type == "i8" ? "i32" : g.result_words == 2 ? "f64" : "f32", value);
    wave.wave.vector[base + first].lane[lane] = u32(code);
    if (g.result_words == 2) wave.wave.vector[base + first + 1].lane[lane] = u32(code >> 32);
  }
  double get(int base, int first, int lane) const {
    if (g.result_words == 2)
      return std::bit_cast<double>(wave.get64(unsigned(base + first), unsigned(lane)));
    const u32 code = wave.get(unsigned(base + first), unsigned(lane));
    return g.a_type == "i8" ? double(i32(code)) : double(std::bit_cast<float>(code));
  }
  std::vector<const int*> kept_;
};

TEST(Matrix, EveryInstructionMultiplies) {
  int count = 0;
  for (const auto& [name, operation] : all_operations()) {
    if (operation.unit != Unit::matrix) continue;
    ++count;
    Multiplication m{std::string(name)};
    m.fill(unsigned(count));
    const auto expected = m.expected();
    m.execute();
    EXPECT_EQ(m.d, expected) << name;
  }
  EXPECT_EQ(count, 46 + 27);
}

TEST(Matrix, ConstantC) {
  for (const char* name : {"v_mfma_f32_16x16x16_bf16", "v_mfma_f64_16x16x4_f64"}) {
    Multiplication m(name);
    m.fill(3);
    m.execute("", true);
    std::fill(m.c.begin(), m.c.end(), 1.0);
    EXPECT_EQ(m.d, m.expected()) << name;
  }
}

// ---- Modifiers ----

TEST(Matrix, BlocksOfAAreBroadcast) {
  Multiplication m("v_mfma_f32_4x4x4_16b_f16");
  m.fill(4);
  m.execute(" cbsz:2 abid:3");
  for (int block = 0; block < 16; ++block)
    for (int i = 0; i < 4; ++i)
      for (int k = 0; k < 4; ++k)
        if (block % 4 != 3) m.a_at(block, i, k) = m.a_at(block / 4 * 4 + 3, i, k);
  EXPECT_EQ(m.d, m.expected());
  EXPECT_THROW(m.execute(" cbsz:2 abid:4"), Fault);
  EXPECT_THROW(m.execute(" cbsz:5"), Fault);
}

/// 4x4x1: lane n holds B's column n % 4 of block n / 4.
TEST(Matrix, LanesOfBAreMoved) {
  const int source_of_lane_5[8] = {5, 5, 37, 21, 5, 21, 37, 53};
  const int source_of_lane_60[8] = {60, 28, 60, 12, 12, 28, 44, 60};
  for (int blgp = 0; blgp < 8; ++blgp) {
    Multiplication m("v_mfma_f32_4x4x1_16b_f32");
    m.fill(5);
    m.execute(blgp ? " blgp:" + std::to_string(blgp) : "");
    for (const auto& [lane, source] :
         {std::pair(5, source_of_lane_5[blgp]), std::pair(60, source_of_lane_60[blgp])})
      for (int i = 0; i < 4; ++i)
        EXPECT_EQ(m.d_at(lane / 4, i, lane % 4),
                  m.c_at(lane / 4, i, lane % 4) +
                      m.a_at(lane / 4, i, 0) * m.b_at(source / 4, 0, source % 4))
            << "blgp " << blgp << " lane " << lane;
  }
  EXPECT_THROW(Multiplication("v_mfma_f32_32x32x8_f16").execute(" blgp:1"), Fault);
}

TEST(Matrix, NegatedDoubles) {
  for (int bits = 0; bits < 8; ++bits) {
    Multiplication m("v_mfma_f64_16x16x4_f64");
    m.fill(6);
    m.execute(" neg:[" + std::to_string(bits & 1) + "," + std::to_string(bits >> 1 & 1) + "," +
              std::to_string(bits >> 2) + "]");
    if (bits & 1)
      for (double& x : m.a) x = -x;
    if (bits & 2)
      for (double& x : m.b) x = -x;
    if (bits & 4)
      for (double& x : m.c) x = -x;
    EXPECT_EQ(m.d, m.expected()) << bits;
  }
}

// ---- Rounding ----

/// 2^23 - 2^23 - 0.5 - 0.25 - 0.125 loses the digits that were measured on each chip's adders.
double cancelled(const std::string& name) {
  Multiplication m(name);
  const double a[] = {-0x1p13, -0.5, -0.25, -0.125}, b[] = {0x1p10, 1, 1, 1};
  for (int k = 0; k < std::min(4, m.g.k); ++k) {
    m.a_at(0, 0, k) = a[k];
    m.b_at(0, k, 0) = b[k];
  }
  m.c_at(0, 0, 0) = 0x1p23;
  m.execute();
  return m.d_at(0, 0, 0);
}

TEST(MatrixRounding, AsMeasured) {
  EXPECT_EQ(cancelled("v_mfma_f64_16x16x4_f64"), -0.875);
  EXPECT_EQ(cancelled("v_mfma_f32_16x16x4_f32"), -0.875);
  EXPECT_EQ(cancelled("v_mfma_f32_32x32x8_f16"), -0.5);
  EXPECT_EQ(cancelled("v_mfma_f32_32x32x8_bf16"), -0.5);
  EXPECT_EQ(cancelled("v_mfma_f32_16x16x32_bf8_bf8"), -1.0);
  EXPECT_EQ(cancelled("v_mfma_f32_16x16x8bf16"), -0.375);
  EXPECT_EQ(cancelled("v_mfma_f32_16x16x16bf16_1k"), 0.0);
  EXPECT_EQ(cancelled("v_mfma_f32_16x16x16f16"), 0.0);
}

double one_product(const std::string& name, double a, double b, double c) {
  Multiplication m(name);
  m.a_at(0, 0, 0) = a;
  m.b_at(0, 0, 0) = b;
  m.c_at(0, 0, 0) = c;
  m.execute();
  return m.d_at(0, 0, 0);
}

TEST(MatrixRounding, Denormals) {
  EXPECT_EQ(one_product("v_mfma_f32_16x16x16_f16", 0x1p-24, 1, 0), 0x1p-24);
  EXPECT_EQ(one_product("v_mfma_f32_16x16x16f16", 0x1p-24, 1, 0), 0);
  EXPECT_EQ(one_product("v_mfma_f32_16x16x16_bf16", 0x1p-100, 0x1p-40, 0), 0x1p-140);
  EXPECT_EQ(one_product("v_mfma_f32_16x16x16bf16_1k", 0x1p-100, 0x1p-40, 0), 0);
  EXPECT_EQ(one_product("v_mfma_f32_16x16x16_bf16", 0, 0, 0x1p-140), 0x1p-140);
}

TEST(MatrixRounding, Xf32KeepsTenBits) {
  EXPECT_EQ(one_product("v_mfma_f32_16x16x8_xf32", 1 + 0x1p-10 + 0x1p-11, 1, 0), 1 + 0x1p-10);
}

TEST(MatrixRounding, InfinitiesAndNans) {
  for (const char* name : {"v_mfma_f32_32x32x8_bf16", "v_mfma_f32_32x32x8bf16_1k"}) {
    EXPECT_EQ(one_product(name, HUGE_VAL, -2, 0), -HUGE_VAL) << name;
    EXPECT_EQ(one_product(name, 1, 1, HUGE_VAL), HUGE_VAL) << name;
    EXPECT_EQ(one_product(name, 0x1p100, 0x1p100, 0), HUGE_VAL) << name;
    EXPECT_TRUE(std::isnan(one_product(name, HUGE_VAL, 0, 0))) << name;
    EXPECT_TRUE(std::isnan(one_product(name, HUGE_VAL, 1, -HUGE_VAL))) << name;
    EXPECT_TRUE(std::isnan(one_product(name, NAN, 1, 0))) << name;
  }
  EXPECT_TRUE(std::isnan(one_product("v_mfma_f32_16x16x32_fp8_fp8", NAN, 1, 0)));
}

TEST(MatrixRounding, IntegersWrapAround) {
  EXPECT_EQ(one_product("v_mfma_i32_32x32x16_i8", 1, 1, 0x7FFFFFFF), -0x80000000LL);
}

}  // namespace
}  // namespace mi300x

// The fast path of CDNA 3's matrix sums, compared bit by bit with the general path.
#include "emulator/aligned_sums.h"

#include <gtest/gtest.h>

#include <random>

namespace mi300x {
namespace {

/// Values whose exponents lie within `spread` of 0, with the given number of fraction bits; some
/// are 0.
class Values {
 public:
  explicit Values(unsigned seed) : random_(seed) {}

  template <int lines, int width>
  void fill(float (&values)[lines][width], int fraction_bits, int spread, double zeros) {
    for (auto& line : values)
      for (float& value : line) value = next(fraction_bits, spread, zeros);
  }
  unsigned below(unsigned end) { return unsigned(random_() % end); }

 private:
  float next(int fraction_bits, int spread, double zeros) {
    const u32 sign = below(2) << 31;
    if (below(1000) < zeros * 1000) return std::bit_cast<float>(sign);
    const u32 fraction = u32(random_()) & 0x7FFFFF & ~u32{0} << (23 - fraction_bits);
    const int exponent = 127 + int(below(2 * unsigned(spread) + 1)) - spread;
    return std::bit_cast<float>(sign | u32(std::max(exponent, 0)) << 23 | fraction);
  }
  std::mt19937 random_;
};

/// Tests exponents close together and far apart, with C among the products and far above and below
/// them.
template <int length, bool halves, int size, int depth, int rows>
void compare(int fraction_bits, int least) {
  constexpr int tiles = 600;
  Values values(17);
  int usual = 0;
  for (int tile = 0; tile < tiles; ++tile) {
    Block<float, size, depth, rows> one;
    const int spread = std::min(std::array{0, 3, 10, 25, 40}[tile % 5], -least);
    const double zeros = std::array{0.0, 0.3, 0.97}[tile % 3];
    values.fill(one.a, fraction_bits, spread, zeros);
    values.fill(one.b, fraction_bits, spread, zeros);
    values.fill(one.c, 23, std::array{2, 30, 60, 127}[tile % 4], zeros / 2);
    for (auto& row : one.c)  // below 2^120
      for (float& c : row)
        if (std::fabs(c) >= 0x1p119f) c *= 0x1p-20f;
    for (auto& row : one.row_of_b)
      for (int place = 0; place < depth; ++place)
        row[place] = u8(depth == rows ? place : place / 2 * 4 + int(values.below(4)));
    const Exponents<size, depth> a(one.a, least);
    const Exponents<rows, size> b(one.b, least);
    if (!is_usual(one, a, b)) continue;
    ++usual;
    Block<float, size, depth, rows> other = one;
    add_usual_products<length, halves>(one, a, b);
    add_any_products<length, halves>(other, a, b, least, least);
    ASSERT_EQ(std::memcmp(one.c, other.c, sizeof one.c), 0) << "tile " << tile;
  }
  EXPECT_GT(usual, tiles / 2);
}

TEST(AlignedSums, UsualOnesAreTheSame) {
  compare<8, false, 32, 8, 8>(7, -126);
  compare<8, false, 16, 16, 16>(10, -14);
  compare<4, false, 16, 8, 8>(10, -126);
  compare<4, false, 4, 4, 4>(10, -14);
  compare<16, true, 16, 32, 32>(3, -7);
  compare<16, true, 32, 16, 16>(2, -15);
  compare<8, false, 16, 16, 32>(7, -126);
}

}  // namespace
}  // namespace mi300x

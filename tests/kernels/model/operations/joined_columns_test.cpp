// Columns of ranks beside each other, and the parts of random matrices that ranks have.
#include "model/operations/joined_columns.h"

#include <gtest/gtest.h>

#include "model/tensors/weights.h"
#include "support/kernel_test.h"

namespace assay {
namespace {

class PartsOfMatrices : public KernelTest {
 protected:
  static constexpr DataType types[] = {DataType::f32, DataType::bf16};
};

TEST_P(PartsOfMatrices, BecomeOneBesideEachOther) {
  for (const DataType type : types) {
    JoinedColumns joined = JoinedColumns::create(*device_, type).value();
    for (const auto& [parts, rows, width] :
         {std::tuple{2, 1, 8}, {3, 5, 24}, {4, 67, 136}, {1, 3, 16}}) {
      const auto n = static_cast<std::size_t>(parts), r = static_cast<std::size_t>(rows),
                 w = static_cast<std::size_t>(width);
      std::vector<float> from(n * r * w), expected(from.size() + 8, -1);
      for (std::size_t part = 0; part < n; ++part) {
        for (std::size_t row = 0; row < r; ++row) {
          for (std::size_t column = 0; column < w; ++column) {
            const auto value = static_cast<float>((part * 7 + row * 3 + column) % 251);
            from[(part * r + row) * w + column] = value;
            expected[row * n * w + part * w + column] = value;
          }
        }
      }
      const Buffer x = allocate(from.size() * sizeof(float)),
                   y = allocate(expected.size() * sizeof(float));
      ASSERT_TRUE(write_weights(*stream_, x.data(), type, from));
      ASSERT_TRUE(write_weights(*stream_, y.data(), type, std::vector<float>(expected.size(), -1)));
      ASSERT_TRUE(joined.forward(*stream_, y.data(), x.data(), parts, rows, width));
      EXPECT_EQ(read_weights(*stream_, y.data(), type, expected.size()).value(), expected)
          << name_of(type) << " " << parts << " " << rows << " " << width;
    }
  }
}

TEST_P(PartsOfMatrices, HaveTheRandomNumbersOfTheWhole) {
  constexpr Tensor whole = {9, 40, 128}, own = {4, 16, 0};
  constexpr std::size_t first_row = 3, first_column = 24;
  for (const DataType type : types) {
    InitialWeights initial = InitialWeights::create(*device_, *stream_, type, 5).value();
    const Buffer all = allocate(static_cast<std::size_t>(whole.elements()) * sizeof(float)),
                 part = allocate(static_cast<std::size_t>(own.elements()) * sizeof(float));
    ASSERT_TRUE(initial.normal(all.data(), whole, 0.5));
    ASSERT_TRUE(initial.normal_part(part.data(), own, whole,
                                    first_row * whole.columns + first_column, 0.5));
    const auto read = [&](const Buffer& from, const Tensor& t) {
      return read_weights(*stream_, from.data(), type, static_cast<std::size_t>(t.elements()))
          .value();
    };
    const std::vector<float> expected = read(all, whole), found = read(part, own);
    for (std::size_t row = 0; row < own.rows; ++row) {
      for (std::size_t column = 0; column < own.columns; ++column) {
        ASSERT_EQ(found[row * own.columns + column],
                  expected[(first_row + row) * whole.columns + first_column + column]);
      }
    }
    EXPECT_NE(found.front(), found.back());
  }
}

ASSAY_KERNEL_BUILDS(PartsOfMatrices);

}  // namespace
}  // namespace assay

// Products of a few rows with quantized matrices, against a reference in double precision whose
// matrix has the numbers of the codes.
#include "model/operations/skinny_product.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/random.h"
#include "kernel_test.h"
#include "model/decoder_gate.h"
#include "model/operations/quantized_rows.h"
#include "model/weights.h"

namespace assay {
namespace {

/// Outputs that fill no tile, and a depth that waves share unevenly and that fills no wave's read.
constexpr std::int64_t outputs = 45, inputs = 64 * 19 + 48;

class SkinnyProducts : public KernelTest {
 protected:
  /// Normally distributed numbers of `type`, and what they are once they are stored.
  Buffer normal(DataType type, std::int64_t count, std::vector<float>& host) {
    Random random(static_cast<std::uint64_t>(count));
    host.clear();
    for (std::int64_t i = 0; i < count; ++i) host.push_back(static_cast<float>(random.normal()));
    Buffer buffer = allocate(host.size() * size_of(type));
    EXPECT_TRUE(write_weights(*stream_, buffer.data(), type, host));
    host = read_weights(*stream_, buffer.data(), type, host.size()).value();
    return buffer;
  }

  void quantize(DataType type) {
    const Buffer numbers = normal(DataType::f32, outputs * inputs, w_);
    codes_ = allocate(w_.size());
    factors_ = allocate(outputs * sizeof(float));
    QuantizedRows rows = QuantizedRows::create(*device_, DataType::f32, type).value();
    ASSERT_TRUE(
        rows.quantize(*stream_, codes_.data(), factors_.data(), numbers.data(), outputs, inputs));
    ASSERT_TRUE(
        rows.dequantize(*stream_, numbers.data(), codes_.data(), factors_.data(), outputs, inputs));
    w_ = download<float>(numbers.data(), w_.size());
  }

  /// y and a row behind it, of the first `rows` rows of x.
  std::vector<float> product(SkinnyProduct& products, const void* x, const void* bias,
                             std::int64_t rows) {
    const Buffer y = upload(std::vector<std::uint16_t>(
        static_cast<std::size_t>((rows + 1) * outputs), std::uint16_t{0x4000}));  // 2
    EXPECT_TRUE(products.forward(*stream_, y.data(), x, codes_.data(), factors_.as<float>(), bias,
                                 {rows, outputs, inputs}));
    return read_weights(*stream_, y.data(), DataType::bf16,
                        static_cast<std::size_t>((rows + 1) * outputs))
        .value();
  }

  std::vector<float> w_;
  Buffer codes_, factors_;
};

TEST_P(SkinnyProducts, AreThoseOfTheNumbersOfTheCodes) {
  constexpr std::int64_t most = SkinnyProduct::most_rows + 3;  // two launches
  std::vector<float> x, bias;
  const Buffer x_there = normal(DataType::bf16, most * inputs, x),
               bias_there = normal(DataType::bf16, outputs, bias);
  for (const DataType type : {DataType::e4m3, DataType::e4m3_fnuz, DataType::i8}) {
    quantize(type);
    SkinnyProduct products(*device_, type);
    std::vector<double> expected;
    std::vector<float> first_row;
    for (std::int64_t row = 0; row < most; ++row) {
      for (std::int64_t o = 0; o < outputs; ++o) {
        double sum = bias[static_cast<std::size_t>(o)];
        for (std::int64_t i = 0; i < inputs; ++i) {
          sum += double(x[static_cast<std::size_t>(row * inputs + i)]) *
                 w_[static_cast<std::size_t>(o * inputs + i)];
        }
        expected.push_back(sum);
      }
    }
    for (const std::int64_t rows : {std::int64_t{1}, std::int64_t{7}, std::int64_t{16},
                                    std::int64_t{17}, std::int64_t{33}, most}) {
      const std::string what = std::string(name_of(type)) + ", rows " + std::to_string(rows);
      const auto found = product(products, x_there.data(), bias_there.data(), rows);
      const auto results = static_cast<std::size_t>(rows * outputs);
      // Rounding to bf16 moves numbers by 2^-9 of them at most.
      EXPECT_LT(relative_distance(found, std::span(expected).first(results)), 2e-3) << what;
      for (std::size_t i = results; i < found.size(); ++i) EXPECT_EQ(found[i], 2) << what;
      const std::vector<float> row(found.begin(), found.begin() + outputs);
      if (first_row.empty()) first_row = row;
      EXPECT_EQ(row, first_row) << what << ": the first row depends on others";
    }
  }
}

TEST_P(SkinnyProducts, AreTheSameBitsInEveryVariant) {
  std::vector<float> x;
  const Buffer x_there = normal(DataType::bf16, 20 * inputs, x);
  quantize(DataType::i8);
  SkinnyProduct usual(*device_, DataType::i8);
  const auto expected = product(usual, x_there.data(), nullptr, 20);
  for (const SkinnyVariant variant : {SkinnyVariant{1, 1}, SkinnyVariant{3, 2}}) {
    SkinnyProduct products(*device_, DataType::i8, variant);
    EXPECT_EQ(product(products, x_there.data(), nullptr, 20), expected) << variant.name();
  }
}

ASSAY_KERNEL_BUILDS(SkinnyProducts);

}  // namespace
}  // namespace assay

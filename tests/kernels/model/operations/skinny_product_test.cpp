// Products of a few rows, against a reference in double precision. For quantized matrices,
// the reference multiplies the numbers that their codes stand for.
#include "model/operations/skinny_product.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/random.h"
#include "model/decoder/decoder_self_check.h"
#include "model/operations/quantized_rows.h"
#include "model/tensors/weights.h"
#include "support/kernel_test.h"

namespace assay {
namespace {

using Codes = std::optional<DataType>;

/// Outputs of which blocks have several tiles, the last one not full, and a depth that waves share
/// unevenly and that fills no wave's read.
constexpr std::int64_t outputs = 301, inputs = 64 * 9 + 48;
constexpr Codes all_codes[] = {std::nullopt, DataType::e4m3, DataType::e4m3_fnuz, DataType::i8};

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

  /// A matrix of twice as many outputs, as SwiGLU takes it.
  void make_matrix(Codes codes) {
    elements_ = normal(codes ? DataType::f32 : DataType::bf16, 2 * outputs * inputs, w_);
    factors_ = Buffer();
    if (!codes) return;
    const Buffer numbers = std::move(elements_);
    elements_ = allocate(w_.size());
    factors_ = allocate(2 * outputs * sizeof(float));
    QuantizedRows rows = QuantizedRows::create(*device_, DataType::f32, *codes).value();
    ASSERT_TRUE(rows.quantize(*stream_, elements_.data(), factors_.data(), numbers.data(),
                              2 * outputs, inputs));
    ASSERT_TRUE(rows.dequantize(*stream_, numbers.data(), elements_.data(), factors_.data(),
                                2 * outputs, inputs));
    w_ = download<float>(numbers.data(), w_.size());
  }
  StoredMatrix matrix() const { return {elements_.data(), factors_.as<float>()}; }

  /// x W^T of the first `rows` rows of x, for all outputs of the matrix.
  std::vector<double> reference(const std::vector<float>& x, std::int64_t rows) const {
    std::vector<double> sums;
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t o = 0; o < 2 * outputs; ++o) {
        double sum = 0;
        for (std::int64_t i = 0; i < inputs; ++i) {
          sum += double(x[static_cast<std::size_t>(row * inputs + i)]) *
                 w_[static_cast<std::size_t>(o * inputs + i)];
        }
        sums.push_back(sum);
      }
    }
    return sums;
  }

  /// y of `rows` rows that `queue(y)` queues. Nothing else may be written.
  template <typename Queue>
  std::vector<float> results(std::int64_t rows, const Queue& queue) {
    const auto count = static_cast<std::size_t>(rows * outputs);
    const Buffer y =
        upload(std::vector<std::uint16_t>(count + outputs, std::uint16_t{0x4000}));  // 2 in bf16
    EXPECT_TRUE(queue(y.data()));
    auto found = read_weights(*stream_, y.data(), DataType::bf16, count + outputs).value();
    for (std::size_t i = count; i < found.size(); ++i) EXPECT_EQ(found[i], 2) << "behind y";
    found.resize(count);
    return found;
  }

  /// Numbers of rows up to the most that a kernel takes; the host has one kernel.
  std::vector<std::int64_t> row_counts() const {
    if (device_->facts().runs_on_host) return {1, 7, 16};
    return {1, 7, 16, 17, 32, 45, SkinnyProduct::most_rows};
  }

  std::vector<float> w_;
  Buffer elements_, factors_;
};

TEST_P(SkinnyProducts, AreThoseOfTheReference) {
  const std::int64_t most = row_counts().back();
  std::vector<float> x, bias;
  const Buffer x_there = normal(DataType::bf16, most * inputs, x),
               bias_there = normal(DataType::bf16, outputs, bias);
  for (const Codes codes : all_codes) {
    make_matrix(codes);
    const std::vector<double> sums = reference(x, most);
    const auto sum = [&](std::int64_t row, std::int64_t output) {
      return sums[static_cast<std::size_t>(row * 2 * outputs + output)];
    };
    std::vector<float> first_row, first_row_of_swiglu;
    for (const std::int64_t rows : row_counts()) {
      SCOPED_TRACE(std::string(codes ? name_of(*codes) : "bf16") + ", rows " +
                   std::to_string(rows));
      SkinnyProduct products = SkinnyProduct::create(*device_, rows, codes).value();
      const LinearShape shape = {rows, outputs, inputs};
      const auto expect = [&](const std::vector<float>& found, auto expected_of,
                              std::vector<float>& first) {
        std::vector<double> expected;
        for (std::int64_t row = 0; row < rows; ++row) {
          for (std::int64_t o = 0; o < outputs; ++o) expected.push_back(expected_of(row, o));
        }
        // Rounding to bf16 moves a number by 2^-8 of it at most.
        EXPECT_LT(relative_distance(found, expected), 4e-3);
        const std::vector<float> row(found.begin(), found.begin() + outputs);
        if (first.empty()) first = row;
        EXPECT_EQ(row, first) << "the first row depends on others";
      };
      expect(
          results(rows,
                  [&](void* y) {
                    return products.forward(*stream_, y, x_there.data(), matrix(),
                                            bias_there.data(), shape);
                  }),
          [&](std::int64_t row, std::int64_t o) {
            return sum(row, o) + bias[static_cast<std::size_t>(o)];
          },
          first_row);
      expect(
          results(rows,
                  [&](void* y) {
                    return products.forward_swiglu(*stream_, y, x_there.data(), matrix(), shape);
                  }),
          [&](std::int64_t row, std::int64_t o) {
            const double gate = sum(row, o);
            return gate / (1 + std::exp(-gate)) * sum(row, outputs + o);
          },
          first_row_of_swiglu);
    }
  }
}

TEST_P(SkinnyProducts, AreTheSameBitsInEveryVariant) {
  const std::int64_t rows = row_counts().back();
  std::vector<float> x;
  const Buffer x_there = normal(DataType::bf16, rows * inputs, x);
  for (const Codes codes : {Codes(), Codes(DataType::i8)}) {
    make_matrix(codes);
    std::vector<float> first;
    for (const SkinnyVariant variant : SkinnyProduct::variants()) {
      SkinnyProduct products = SkinnyProduct::create(*device_, rows, codes, variant).value();
      const auto found = results(rows, [&](void* y) {
        return products.forward(*stream_, y, x_there.data(), matrix(), nullptr,
                                {rows, outputs, inputs});
      });
      if (first.empty()) first = found;
      EXPECT_EQ(found, first) << variant.name();
    }
  }
}

TEST_P(SkinnyProducts, RefuseWhatTheyHaveNoRoomFor) {
  std::vector<float> x;
  const Buffer x_there = normal(DataType::bf16, 17 * inputs, x);
  make_matrix(std::nullopt);
  SkinnyProduct products = SkinnyProduct::create(*device_, 16).value();
  const auto refused = [&](LinearShape shape) {
    const Status status =
        products.forward(*stream_, x_there.data(), x_there.data(), matrix(), nullptr, shape);
    return !status.ok() && status.error().kind == ErrorKind::failed;
  };
  EXPECT_TRUE(refused({17, 1, inputs}));
  EXPECT_TRUE(refused({0, 1, inputs}));
  EXPECT_TRUE(refused({1, 1, inputs - 8}));
}

ASSAY_KERNEL_BUILDS(SkinnyProducts);

}  // namespace
}  // namespace assay

// Products of rows of codes against sums in double precision of the numbers that the codes stand
// for, and operations that leave codes against the same operations and a quantization after them.
#include "model/operations/quantized_linear.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compute/stored_elements.h"
#include "model/operations/fp8_linear.h"
#include "model/operations/norm.h"
#include "support/model_test.h"

namespace assay {
namespace {

constexpr DataType encodings[] = {DataType::e4m3, DataType::e4m3_fnuz};

/// Codes of rows on the device.
struct Coded {
  Buffer codes, factors;
  std::int64_t rows = 0, width = 0;

  CodedRows place() const { return {codes.data(), factors.as<float>()}; }
};

class QuantizedLinears : public ModelTest {
 protected:
  void SetUp() override {
    ModelTest::SetUp();
    if (IsSkipped()) return;
    plans_ = std::make_unique<GemmPlans>(*device_, *stream_,
                                         GemmPlans::Options{.measure = false, .own_if_none = true},
                                         ChoiceCache::of_user(device_->facts()));
  }
  void TearDown() override { plans_.reset(); }

  Coded room(std::int64_t rows, std::int64_t width) {
    return {allocate(static_cast<std::size_t>(rows * width)),
            allocate(static_cast<std::size_t>(rows) * sizeof(float)), rows, width};
  }
  Coded quantized(DataType type, const void* x, std::int64_t rows, std::int64_t width) {
    Coded made = room(rows, width);
    QuantizedRows kernels = QuantizedRows::create(*device_, DataType::bf16, type).value();
    EXPECT_TRUE(kernels.quantize(*stream_, made.codes.data(), made.factors.data(), x, rows, width));
    return made;
  }
  /// The numbers of all codes.
  std::vector<double> numbers_of(const Coded& coded, DataType type) {
    const auto codes =
        download<std::uint8_t>(coded.codes.data(), std::size_t(coded.rows * coded.width));
    const auto factors = download<float>(coded.factors.data(), std::size_t(coded.rows));
    std::vector<double> numbers;
    for (std::size_t i = 0; i < codes.size(); ++i) {
      numbers.push_back(double{factors[i / std::size_t(coded.width)]} *
                        load_element(type, &codes[i]));
    }
    return numbers;
  }
  void expect_same(const Coded& found, const Coded& expected, const std::string& what) {
    const auto bytes = std::size_t(expected.rows * expected.width);
    EXPECT_EQ(download<float>(found.factors.data(), std::size_t(expected.rows)),
              download<float>(expected.factors.data(), std::size_t(expected.rows)))
        << what;
    EXPECT_EQ(download<std::uint8_t>(found.codes.data(), bytes),
              download<std::uint8_t>(expected.codes.data(), bytes))
        << what;
  }

  std::unique_ptr<GemmPlans> plans_;
};

/// Rows and outputs whose factors all differ; by the library's factors and in steps, with and
/// without a bias.
TEST_P(QuantizedLinears, AreSumsOfTheNumbersOfCodes) {
  const LinearShape shape = {21, 80, 112};
  const auto n = static_cast<std::size_t>(shape.rows), o = static_cast<std::size_t>(shape.outputs),
             k = static_cast<std::size_t>(shape.inputs);
  std::vector<float> x(n * k), w(o * k);
  Random random(3);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<float>(random.normal() * double(1 + i / k));
  }
  for (std::size_t i = 0; i < w.size(); ++i) {
    w[i] = static_cast<float>(random.normal() / double(1 + i / k));
  }
  const Values x_there = values(DataType::bf16, x), w_there = values(DataType::bf16, w),
               bias = normal(DataType::bf16, o, 4);
  Activations functions = Activations::create(*device_, DataType::bf16).value();
  for (const DataType type : encodings) {
    QuantizedLinear linear = QuantizedLinear::create(*device_, *plans_, functions, type).value();
    const Coded a = quantized(type, x_there.buffer.data(), shape.rows, shape.inputs),
                b = quantized(type, w_there.buffer.data(), shape.outputs, shape.inputs);
    const std::vector<double> left = numbers_of(a, type), right = numbers_of(b, type);
    for (const bool biased : {false, true}) {
      std::vector<double> expected(n * o);
      for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < o; ++j) {
          double sum = biased ? bias.host[j] : 0;
          for (std::size_t l = 0; l < k; ++l) sum += left[i * k + l] * right[j * k + l];
          expected[i * o + j] = sum;
        }
      }
      const void* const bias_there = biased ? bias.buffer.data() : nullptr;
      const StoredMatrix weight = b.place().stored();
      const Values y = unknown(DataType::bf16, n * o), in_steps = unknown(DataType::bf16, n * o);
      ASSERT_TRUE(
          linear.forward(*stream_, y.buffer.data(), a.place().stored(), weight, bias_there, shape));
      ASSERT_TRUE(linear.forward_in_steps(*stream_, in_steps.buffer.data(), a.place().stored(),
                                          weight, bias_there, shape));
      // Each row on its own, because the first is twenty times as small as the last.
      for (const Values* found : {&y, &in_steps}) {
        const std::vector<float> all = read(*found, DataType::bf16);
        for (std::size_t i = 0; i < n; ++i) {
          EXPECT_LT(relative_distance(all, expected, i * o, o), found == &y ? 5e-3 : 8e-3)
              << name_of(type) << (biased ? ", biased, row " : ", row ") << i
              << (found == &y ? "" : " in steps");
        }
      }
    }
  }
}

TEST_P(QuantizedLinears, NormsLeaveTheCodesOfTheirResult) {
  for (const std::int64_t width : {std::int64_t{80}, std::int64_t{4112}}) {
    const std::int64_t rows = 5;
    const auto elements = static_cast<std::size_t>(rows * width);
    const Values stream = normal(DataType::bf16, elements, 1),
                 branch = normal(DataType::bf16, elements, 2),
                 weight = normal(DataType::bf16, static_cast<std::size_t>(width), 3, 1),
                 normed = unknown(DataType::bf16, elements);
    for (const DataType type : encodings) {
      Norm norm = Norm::rms(*device_, DataType::bf16, 1e-5, type).value();
      for (const bool adds : {false, true}) {
        const Values sum = unknown(DataType::bf16, elements);
        const void* const added = adds ? branch.buffer.data() : nullptr;
        ASSERT_TRUE(norm.forward(*stream_, normed.buffer.data(), nullptr, sum.buffer.data(),
                                 stream.buffer.data(), added, weight.buffer.data(), nullptr,
                                 {rows, width}));
        const std::vector<float> expected_sum = read(sum, DataType::bf16);
        const Coded found = room(rows, width);
        const Values again = unknown(DataType::bf16, elements);
        ASSERT_TRUE(norm.forward_codes(*stream_, found.place(), again.buffer.data(),
                                       stream.buffer.data(), added, weight.buffer.data(),
                                       {rows, width}));
        expect_same(found, quantized(type, normed.buffer.data(), rows, width),
                    std::string(name_of(type)) + " " + std::to_string(width));
        if (adds) EXPECT_EQ(read(again, DataType::bf16), expected_sum);
      }
    }
  }
}

TEST_P(QuantizedLinears, SwiGluLeavesTheCodesOfItsResult) {
  for (const std::int64_t width : {std::int64_t{48}, std::int64_t{4208}}) {
    const std::int64_t rows = 3;
    std::vector<float> gates(static_cast<std::size_t>(2 * rows * width));
    Random random(9);
    for (float& x : gates) x = static_cast<float>(random.normal() * 3);
    std::fill_n(gates.begin() + 2 * width, 2 * width, 0.0f);  // a row of zeros
    const Values x = values(DataType::bf16, gates),
                 y = unknown(DataType::bf16, static_cast<std::size_t>(rows * width));
    for (const DataType type : encodings) {
      Activations functions = Activations::create(*device_, DataType::bf16, type).value();
      ASSERT_TRUE(functions.swiglu(*stream_, y.buffer.data(), x.buffer.data(), rows, width));
      const Coded found = room(rows, width);
      ASSERT_TRUE(functions.swiglu_codes(*stream_, found.place(), x.buffer.data(), rows, width));
      expect_same(found, quantized(type, y.buffer.data(), rows, width),
                  std::string(name_of(type)) + " " + std::to_string(width));
    }
  }
}

/// The factor of the first row would be subnormal, and its inverse infinite.
TEST_P(QuantizedLinears, RowsOfTinyNumbersAreZero) {
  std::vector<float> numbers(32, 1e-37f);
  std::fill_n(numbers.begin() + 16, 16, 1e-30f);
  const Values x = values(DataType::bf16, numbers);
  for (const DataType type : encodings) {
    const std::vector<double> found = numbers_of(quantized(type, x.buffer.data(), 2, 16), type);
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_NEAR(found[i], i < 16 ? 0 : 1e-30, 1e-32) << name_of(type);
    }
  }
}

ASSAY_KERNEL_BUILDS(QuantizedLinears);

}  // namespace
}  // namespace assay

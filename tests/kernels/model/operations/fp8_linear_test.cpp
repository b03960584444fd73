// Quantization of tensors to FP8, code by code, and the products of quantized tensors against sums
// in double precision of the numbers that their codes stand for.
#include "model/operations/fp8_linear.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "compute/stored_elements.h"
#include "support/model_test.h"

namespace assay {
namespace {

/// What is in memory after a tensor was quantized.
struct Quantized {
  Buffer codes, columns, scale;
  std::int64_t rows = 0, width = 0;

  Fp8Matrix matrix() const { return {codes.data(), columns.data(), scale.data()}; }
};

class Fp8Operations : public ModelTest {
 protected:
  void SetUp() override {
    ModelTest::SetUp();
    if (IsSkipped()) return;
    plans_ = std::make_unique<GemmPlans>(*device_, *stream_,
                                         GemmPlans::Options{.measure = false, .own_if_none = true},
                                         ChoiceCache::of_user(device_->facts()));
    linear_ = std::make_unique<Fp8Linear>(Fp8Linear::create(*device_, *plans_).value());
  }
  void TearDown() override {
    linear_.reset();
    plans_.reset();
  }

  Quantized quantized(Fp8Role role, const Values& x, std::int64_t rows, std::int64_t width) {
    const auto elements = static_cast<std::size_t>(rows * width);
    Quantized made = {allocate(elements), allocate(elements), allocate(fp8_scale_bytes), rows,
                      width};
    EXPECT_TRUE(stream_->fill(made.scale.data(), 0, fp8_scale_bytes));
    EXPECT_TRUE(linear_->find_largest(*stream_, made.scale.data(), x.buffer.data(), rows * width));
    EXPECT_TRUE(linear_->quantize(*stream_, role, made.matrix(), x.buffer.data(), rows, width));
    return made;
  }

  float factor_of(const Quantized& q) {
    return read_back<float>(*stream_, q.scale.data(), 1).value()[0];
  }
  /// The numbers that the codes stand for, by rows.
  std::vector<double> numbers_of(const Quantized& q, Fp8Role role) {
    const auto codes =
        read_back<std::uint8_t>(*stream_, q.codes.data(), std::size_t(q.rows * q.width)).value();
    const DataType type = fp8_type(device_->facts(), role);
    const double factor = factor_of(q);
    std::vector<double> numbers;
    for (const std::uint8_t& code : codes) numbers.push_back(factor * load_element(type, &code));
    return numbers;
  }

  void expect_codes(DataType type, Fp8Role role, const Values& x, std::int64_t rows,
                    std::int64_t width) {
    const Quantized q = quantized(role, x, rows, width);
    const std::size_t elements = x.host.size();
    const auto codes = read_back<std::uint8_t>(*stream_, q.codes.data(), elements).value();
    const auto columns = read_back<std::uint8_t>(*stream_, q.columns.data(), elements).value();
    float largest = 0;
    for (const float value : x.host) largest = std::max(largest, std::abs(value));
    const float inverse =
        static_cast<float>(largest_of(type)) / std::max(largest, 1e-12f);  // as in torchao
    EXPECT_EQ(factor_of(q), 1 / inverse);
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t c = 0; c < width; ++c) {
        const auto at = static_cast<std::size_t>(r * width + c);
        std::uint8_t expected = 0;
        store_element(type, &expected, double(x.host[at] * inverse));
        ASSERT_EQ(int(codes[at]), int(expected)) << name_of(type) << " " << r << " " << c;
        ASSERT_EQ(columns[static_cast<std::size_t>(c * rows + r)], codes[at]) << r << " " << c;
      }
    }
  }

  static double largest_of(DataType type) {
    switch (type) {
      case DataType::e4m3:
        return 448;
      case DataType::e4m3_fnuz:
        return 240;
      default:
        return 57344;
    }
  }

  std::unique_ptr<GemmPlans> plans_;
  std::unique_ptr<Fp8Linear> linear_;
};

TEST_P(Fp8Operations, CodesAreTheNearestOfBothLayouts) {
  for (const Fp8Role role : {Fp8Role::value, Fp8Role::gradient}) {
    const DataType type = fp8_type(device_->facts(), role);
    for (const auto& [rows, width] :
         {std::pair<std::int64_t, std::int64_t>(16, 16), {48, 144}, {80, 272}, {128, 128}}) {
      const auto elements = static_cast<std::size_t>(rows * width);
      expect_codes(type, role, normal(DataType::bf16, elements, 1), rows, width);
      expect_codes(type, role, normal(DataType::bf16, elements, 2, 1e4), rows, width);
      std::vector<float> tiny(elements, 1e-30f);
      tiny[0] = -3e-8f;
      expect_codes(type, role, values(DataType::bf16, tiny), rows, width);
      expect_codes(type, role, values(DataType::bf16, std::vector<float>(elements, 0.0f)), rows,
                   width);
    }
  }
}

/// A NaN must not vanish, because the loss has to show it.
TEST_P(Fp8Operations, ANanStaysANan) {
  std::vector<float> numbers(256, 1.0f);
  numbers[37] = std::numeric_limits<float>::quiet_NaN();
  for (const Fp8Role role : {Fp8Role::value, Fp8Role::gradient}) {
    const Quantized q = quantized(role, values(DataType::bf16, numbers), 16, 16);
    const std::vector<double> found = numbers_of(q, role);
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_EQ(std::isnan(found[i]), i == 37) << i;
  }
}

/// Training uses one encoding on this device; the kernels of the others are right, too.
TEST_P(Fp8Operations, EveryEncodingIsQuantized) {
  const Values x = normal(DataType::bf16, 32 * 48, 3);
  Kernels kernels = Kernels::build(*device_, "quantize_tensor", DataType::bf16).value();
  float largest = 0;
  for (const float value : x.host) largest = std::max(largest, std::abs(value));
  for (const DataType type :
       {DataType::e4m3, DataType::e5m2, DataType::e4m3_fnuz, DataType::e5m2_fnuz}) {
    const Buffer codes = allocate(x.host.size()), scale = allocate(fp8_scale_bytes);
    ASSERT_TRUE(stream_->fill(scale.data(), 0, fp8_scale_bytes));
    const auto run = [&](const std::string& name, auto... arguments) {
      return launch(*stream_, *kernels.of_type(name).value(),
                    shape_of_elements(device_->facts(), 32 * 48), arguments...);
    };
    ASSERT_TRUE(run("find_largest", scale.data(), x.buffer.data(), std::uint64_t{32 * 48}));
    ASSERT_TRUE(run("quantize_tensor_" + std::string(name_of(type)), codes.data(),
                    static_cast<void*>(nullptr), scale.data(), x.buffer.data(), std::uint64_t{32},
                    std::uint64_t{48}));
    const auto found = read_back<std::uint8_t>(*stream_, codes.data(), x.host.size()).value();
    const float inverse = static_cast<float>(largest_of(type)) / largest;
    for (std::size_t i = 0; i < found.size(); ++i) {
      std::uint8_t expected = 0;
      store_element(type, &expected, double(x.host[i] * inverse));
      ASSERT_EQ(int(found[i]), int(expected)) << name_of(type) << " " << i;
    }
  }
}

/// Forward and backward of a layer, against the sums of the quantized numbers.
TEST_P(Fp8Operations, ProductsAreThoseOfTheQuantizedNumbers) {
  const LinearShape shape = {48, 80, 112};
  const auto n = static_cast<std::size_t>(shape.rows), o = static_cast<std::size_t>(shape.outputs),
             in = static_cast<std::size_t>(shape.inputs);
  const Quantized x =
      quantized(Fp8Role::value, normal(DataType::bf16, n * in, 1), shape.rows, shape.inputs);
  const Quantized w =
      quantized(Fp8Role::value, normal(DataType::bf16, o * in, 2), shape.outputs, shape.inputs);
  const Quantized dy =
      quantized(Fp8Role::gradient, normal(DataType::bf16, n * o, 3), shape.rows, shape.outputs);
  const std::vector<double> x_numbers = numbers_of(x, Fp8Role::value),
                            w_numbers = numbers_of(w, Fp8Role::value),
                            dy_numbers = numbers_of(dy, Fp8Role::gradient);
  std::vector<double> y(n * o), dx(n * in), dw(o * in);
  for (std::size_t r = 0; r < n; ++r) {
    for (std::size_t i = 0; i < o; ++i) {
      for (std::size_t j = 0; j < in; ++j) {
        y[r * o + i] += x_numbers[r * in + j] * w_numbers[i * in + j];
        dx[r * in + j] += dy_numbers[r * o + i] * w_numbers[i * in + j];
        dw[i * in + j] += dy_numbers[r * o + i] * x_numbers[r * in + j];
      }
    }
  }
  const Values found_y = unknown(DataType::bf16, n * o), found_dx = unknown(DataType::bf16, n * in);
  ASSERT_TRUE(linear_->forward(*stream_, found_y.buffer.data(), x.matrix(), w.matrix(), shape));
  ASSERT_TRUE(
      linear_->input_gradient(*stream_, found_dx.buffer.data(), dy.matrix(), w.matrix(), shape));
  const auto expect_rounded = [&](const Values& found, const std::vector<double>& expected) {
    EXPECT_LT(relative_distance(read(found, DataType::bf16), expected, 0, expected.size()), 3e-3);
  };
  expect_rounded(found_y, y);
  expect_rounded(found_dx, dx);
  for (const bool add : {false, true}) {
    const Values found = add ? normal(DataType::bf16, o * in, 4) : unknown(DataType::bf16, o * in);
    std::vector<double> expected = dw;
    for (std::size_t i = 0; add && i < expected.size(); ++i) expected[i] += found.host[i];
    ASSERT_TRUE(linear_->weight_gradient(*stream_, found.buffer.data(), dy.matrix(), x.matrix(),
                                         shape, add));
    expect_rounded(found, expected);
  }
}

TEST(Fp8, DevicesWithoutItAreNamed) {
  DeviceFacts facts;
  const auto reason = [&](const char* backend, const char* arch) {
    facts.backend = backend;
    facts.arch = arch;
    return fp8_unsupported(facts).value_or("");
  };
  EXPECT_EQ(reason("cuda", "sm_90a"), "");
  EXPECT_EQ(reason("cuda", "sm_80"), "sm_80 has no fp8; it came with sm_89");
  EXPECT_EQ(reason("hip", "gfx942"), "");
  EXPECT_EQ(reason("hip", "gfx950"), "");
  EXPECT_EQ(reason("hip", "gfx90a"), "gfx90a has no OCP fp8");
}

ASSAY_KERNEL_BUILDS(Fp8Operations);

}  // namespace
}  // namespace assay

// Runs kernels of models on tensors of every training type, and compares with references in double
// precision that get the same rounded inputs.
#pragma once

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "core/random.h"
#include "model/tensors/weights.h"
#include "support/kernel_test.h"
#include "support/training_example.h"

namespace assay {

/// A tensor on the device and its contents.
struct Values {
  Buffer buffer;
  std::vector<float> host;
};

class ModelTest : public KernelTest {
 protected:
  static constexpr DataType types[] = {DataType::f32, DataType::bf16, DataType::f16};

  Values values(DataType type, std::vector<float> wanted) {
    Values made = {allocate(wanted.size() * size_of(type)), {}};
    EXPECT_TRUE(write_weights(*stream_, made.buffer.data(), type, wanted));
    made.host = read_weights(*stream_, made.buffer.data(), type, wanted.size()).value();
    return made;
  }
  Values normal(DataType type, std::size_t count, std::uint64_t seed, double mean = 0) {
    Random random(seed);
    std::vector<float> wanted(count);
    for (float& x : wanted) x = static_cast<float>(mean + random.normal());
    return values(type, wanted);
  }
  Values unknown(DataType type, std::size_t count) {
    return values(type, std::vector<float>(count, std::numeric_limits<float>::quiet_NaN()));
  }
  std::vector<float> read(const Values& values, DataType type) {
    return read_weights(*stream_, values.buffer.data(), type, values.host.size()).value();
  }
  /// Expects each element within two steps of bf16 or f16. There are 2^7 or 2^10 steps from a power
  /// of two to the next; below 2^-14 those of f16 do not become smaller. Where a function falls to
  /// less than 1% of its scale, f32 itself has lost digits, and the steps are those of that 1%.
  void expect_within_2_ulp(DataType type, const std::vector<float>& found,
                           const std::vector<double>& expected, const std::vector<float>& scaled) {
    const bool finer = type == DataType::f16;
    for (std::size_t i = 0; i < found.size(); ++i) {
      const double size = std::max(std::abs(expected[i]), 0.01 * std::abs(scaled[i]));
      const double step = std::exp2(std::floor(std::log2(std::max(size, finer ? 0x1p-14 : 1e-30))) -
                                    (finer ? 10 : 7));
      ASSERT_LE(std::abs(found[i] - expected[i]), 2 * step)
          << i << ": " << found[i] << ", expected " << expected[i];
    }
  }
  void expect_near(const std::vector<float>& found, const std::vector<double>& expected,
                   DataType type, const std::string& what) {
    ASSERT_EQ(found.size(), expected.size());
    EXPECT_LT(relative_distance(found, expected, 0, found.size()), type == DataType::f32    ? 1e-5
                                                                   : type == DataType::bf16 ? 1e-2
                                                                                            : 2e-3)
        << what << " " << name_of(type);
  }
};

}  // namespace assay

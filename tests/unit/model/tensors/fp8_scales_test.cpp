// Which factors of matrices of fp8 can be read.
#include "model/tensors/fp8_scales.h"

#include <gtest/gtest.h>

#include <limits>

#include "support/temporary_folder.h"

namespace assay {
namespace {

std::string refusal_of_factor(float factor) {
  const TemporaryFolder folder;
  folder.write("factor", std::string(reinterpret_cast<const char*>(&factor), sizeof factor));
  InputFile file;
  EXPECT_EQ(file.open(folder.path() / "factor"), 0);
  const StoredTensor stored = {"a.weight_scale", DataType::f32, {1}, 0, sizeof factor};
  const auto scales = Fp8Scales::read(file, stored, 2, 16);
  return scales.ok() ? "accepted" : scales.error().message;
}

TEST(Fp8Scales, FactorsWhoseProductsWithCodesAreNumbers) {
  using Limits = std::numeric_limits<float>;
  EXPECT_EQ(refusal_of_factor(0), "accepted");
  EXPECT_EQ(refusal_of_factor(Limits::min()), "accepted");
  EXPECT_EQ(refusal_of_factor(Limits::max() / 448), "accepted");
  EXPECT_EQ(refusal_of_factor(-1), "has a factor -1, allowed: 0, and 1.18e-38 to 7.6e+35");
  for (const float factor :
       {Limits::denorm_min(), Limits::max() / 440, Limits::infinity(), Limits::quiet_NaN()}) {
    EXPECT_NE(refusal_of_factor(factor), "accepted") << factor;
  }
}

}  // namespace
}  // namespace assay

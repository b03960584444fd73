// Convolution problems, their reference and their verification, against sums written out plainly.
#include "compute/vendor/convolution/convolution.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/random.h"
#include "measure/benchmarks/conv/convolution_verify.h"

namespace assay {
namespace {

using testing::HasSubstr;

/// Two groups, and no two numbers alike where a mistake could hide.
ConvolutionProblem odd_problem(int dimensions, bool channels_last) {
  ConvolutionProblem p;
  p.dimensions = dimensions;
  p.channels_last = channels_last;
  p.n = 2;
  p.c = 6;
  p.k = 4;
  p.groups = 2;
  p.in = {7, 5, 0};
  p.filter = {3, 2, 0};
  p.stride = {2, 1, 1};
  p.pad = {1, 2, 0};
  p.dilation = {1, 2, 1};
  if (dimensions == 3) {
    p.in = {4, 7, 5};
    p.filter = {2, 3, 2};
    p.stride = {1, 2, 1};
    p.pad = {0, 1, 2};
    p.dilation = {3, 1, 2};
  }
  return p;
}

std::size_t place_in_memory(const ConvolutionProblem& p, const std::vector<std::int64_t>& shape,
                            std::vector<std::int64_t> at) {
  std::vector<std::int64_t> extents = shape;
  if (p.channels_last) {
    std::rotate(at.begin() + 1, at.begin() + 2, at.end());
    std::rotate(extents.begin() + 1, extents.begin() + 2, extents.end());
  }
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < at.size(); ++i) offset = offset * extents[i] + at[i];
  return static_cast<std::size_t>(offset);
}

/// Every product of x and w that y has, and where the three lie: a loop over all indices.
template <typename Body>
void for_each_product(const ConvolutionProblem& p, const Body& body) {
  const auto xs = p.x_shape(), ws = p.w_shape(), ys = p.y_shape();
  const bool deep = p.dimensions == 3;
  const auto at = [&](std::int64_t a, std::int64_t b, const std::int64_t(&position)[3]) {
    std::vector<std::int64_t> place = {a, b};
    for (int i = 0; i < p.dimensions; ++i) place.push_back(position[i]);
    return place;
  };
  const std::int64_t depth_out = deep ? ys[4] : 1, depth_filter = deep ? ws[4] : 1;
  for (std::int64_t n = 0; n < p.n; ++n) {
    for (std::int64_t k = 0; k < p.k; ++k) {
      for (std::int64_t c = 0; c < p.c / p.groups; ++c) {
        const std::int64_t from = k / (p.k / p.groups) * (p.c / p.groups) + c;
        for (std::int64_t o = 0; o < ys[2] * ys[3] * depth_out; ++o) {
          for (std::int64_t f = 0; f < ws[2] * ws[3] * depth_filter; ++f) {
            const std::int64_t out[3] = {o / depth_out / ys[3], o / depth_out % ys[3],
                                         o % depth_out};
            const std::int64_t filter[3] = {f / depth_filter / ws[3], f / depth_filter % ws[3],
                                            f % depth_filter};
            std::int64_t in[3] = {};
            bool inside = true;
            for (std::size_t i = 0; i < static_cast<std::size_t>(p.dimensions); ++i) {
              in[i] = out[i] * p.stride[i] + filter[i] * p.dilation[i] - p.pad[i];
              inside = inside && in[i] >= 0 && in[i] < p.in[i];
            }
            if (!inside) continue;
            body(place_in_memory(p, xs, at(n, from, in)), place_in_memory(p, ws, at(k, c, filter)),
                 place_in_memory(p, ys, at(n, k, out)));
          }
        }
      }
    }
  }
}

std::vector<float>& result_in(const ConvolutionProblem& p, ConvolutionTensors& tensors) {
  return p.direction == ConvolutionDirection::data      ? tensors.x
         : p.direction == ConvolutionDirection::weights ? tensors.w
                                                        : tensors.y;
}

/// Operands at random and the result in float, summed in double.
ConvolutionTensors computed(const ConvolutionProblem& p) {
  ConvolutionTensors t;
  Random random(5);
  t.x.resize(static_cast<std::size_t>(p.x_elements()));
  t.w.resize(static_cast<std::size_t>(p.w_elements()));
  t.y.resize(static_cast<std::size_t>(p.y_elements()));
  for (auto* tensor : {&t.x, &t.w, &t.y}) {
    for (float& value : *tensor) value = static_cast<float>(random.normal());
  }
  std::vector<double> sums(result_in(p, t).size());
  for_each_product(p, [&](std::size_t x, std::size_t w, std::size_t y) {
    switch (p.direction) {
      case ConvolutionDirection::forward:
        sums[y] += static_cast<double>(t.x[x]) * static_cast<double>(t.w[w]);
        break;
      case ConvolutionDirection::data:
        sums[x] += static_cast<double>(t.w[w]) * static_cast<double>(t.y[y]);
        break;
      case ConvolutionDirection::weights:
        sums[w] += static_cast<double>(t.x[x]) * static_cast<double>(t.y[y]);
        break;
    }
  });
  std::transform(sums.begin(), sums.end(), result_in(p, t).begin(),
                 [](double sum) { return static_cast<float>(sum); });
  return t;
}

constexpr ConvolutionDirection conv_directions[] = {
    ConvolutionDirection::forward, ConvolutionDirection::data, ConvolutionDirection::weights};

TEST(Convolution, ReferenceIsTheSumWrittenOut) {
  for (const int dimensions : {2, 3}) {
    for (const bool channels_last : {false, true}) {
      for (const ConvolutionDirection direction : conv_directions) {
        ConvolutionProblem p = odd_problem(dimensions, channels_last);
        p.direction = direction;
        ASSERT_TRUE(validate(p));
        const ConvolutionTensors tensors = computed(p);
        const Verification all = verify_convolution(p, tensors, false, 1 << 24, 1);
        EXPECT_TRUE(all.passed) << describe(p) << ": " << all.detail;
        EXPECT_EQ(all.method, "every element against its definition in double");
        EXPECT_GT(all.error, 0);  // something was rounded to float
      }
    }
  }
}

/// Terms outside the input are not counted: they are exact.
TEST(Convolution, ReferenceCountsTerms) {
  const ConvolutionProblem p = odd_problem(2, false);
  const ConvolutionReference reference(p);
  const ConvolutionTensors tensors = computed(p);
  EXPECT_EQ(reference.most_terms(), 3 * 3 * 2);
  EXPECT_EQ(reference.at(tensors, {0, 0, 0, 0, 0}).terms, 3 * 2 * 1);
  EXPECT_EQ(reference.at(tensors, {0, 0, 0, 1, 3}).terms, 3 * 3 * 2);
}

TEST(Convolution, EveryWrongElementIsFound) {
  for (const ConvolutionDirection direction : conv_directions) {
    ConvolutionProblem p = odd_problem(2, true);
    p.direction = direction;
    const ConvolutionTensors right = computed(p);
    const std::size_t count = result_in(p, const_cast<ConvolutionTensors&>(right)).size();
    for (std::size_t i = 0; i < count; ++i) {
      ConvolutionTensors wrong = right;
      result_in(p, wrong)[i] += 0.01F;
      const Verification verification = verify_convolution(p, wrong, false, 1 << 24, 1);
      EXPECT_FALSE(verification.passed) << i;
      EXPECT_GT(verification.error, 1);
      EXPECT_THAT(verification.detail, HasSubstr("should be"));
    }
  }
}

TEST(Convolution, WhatIsNoNumberWasNotWritten) {
  const ConvolutionProblem p = odd_problem(2, true);
  ConvolutionTensors tensors = computed(p);
  tensors.y[17] = NAN;
  const Verification verification = verify_convolution(p, tensors, false, 64, 1);
  EXPECT_FALSE(verification.passed);
  EXPECT_EQ(verification.detail, "element 17 in memory was left unwritten or is no number");
}

/// What is rounded to bf16 is right in bf16 and wrong in f32; a transform may be less exact.
TEST(Convolution, ToleranceIsThatOfTheType) {
  ConvolutionProblem p = odd_problem(2, false);
  ConvolutionTensors tensors = computed(p);
  for (float& value : tensors.y) value *= 1 + 1.0F / 300;
  EXPECT_FALSE(verify_convolution(p, tensors, true, 1 << 24, 1).passed);
  p.type = DataType::bf16;
  EXPECT_TRUE(verify_convolution(p, tensors, false, 1 << 24, 1).passed);
  for (float& value : tensors.y) value *= 1 + 1.0F / 60;
  EXPECT_FALSE(verify_convolution(p, tensors, false, 1 << 24, 1).passed);
  EXPECT_TRUE(verify_convolution(p, tensors, true, 1 << 24, 1).passed);
}

TEST(Convolution, SamplesHaveEveryGroupCornerAndBorder) {
  for (const ConvolutionDirection direction : conv_directions) {
    ConvolutionProblem p;
    p.direction = direction;
    p.n = 3;
    p.c = p.k = 200;
    p.groups = 100;
    p.in = {40, 30, 0};
    p.filter = {5, 3, 0};
    p.pad = {2, 1, 0};
    const ConvolutionIndex shape = ConvolutionReference(p).shape();
    const auto places = convolution_places(p, 1000, 9);
    EXPECT_GE(places.size(), 208U);
    EXPECT_LT(places.size(), 300U);
    const std::size_t at = direction == ConvolutionDirection::weights ? 0 : 1;
    std::set<std::int64_t> groups;
    std::set<std::pair<std::int64_t, std::int64_t>> corners;
    for (const ConvolutionIndex& place : places) {
      for (std::size_t i = 0; i < place.size(); ++i) {
        ASSERT_GE(place[i], 0);
        ASSERT_LT(place[i], shape[i]);
      }
      groups.insert(place[at] / 2);
      if (place[3] % (shape[3] - 1) == 0 && place[4] % (shape[4] - 1) == 0) {
        corners.insert({place[3], place[4]});
      }
    }
    EXPECT_EQ(groups.size(), 100U);
    EXPECT_EQ(corners.size(), 4U);
    EXPECT_EQ(convolution_places(p, std::int64_t{1} << 30, 9).size(),
              static_cast<std::size_t>(shape[0] * shape[1] * shape[3] * shape[4]));
  }
}

/// An expensive element does not stop the samples, and a budget is kept.
TEST(Convolution, SamplesKeepTheBudget) {
  ConvolutionProblem p;
  p.direction = ConvolutionDirection::weights;
  p.n = 256;
  p.c = p.k = 64;
  p.in = {112, 112, 0};
  p.filter = {3, 3, 0};
  p.pad = {1, 1, 0};
  EXPECT_EQ(convolution_places(p, 1 << 27, 1).size(), 64U);
  p.n = 1;
  EXPECT_EQ(convolution_places(p, 1 << 24, 1).size(), (std::size_t{1} << 24) / (112 * 112));
}

TEST(Convolution, CountsWork) {
  ConvolutionProblem p = odd_problem(2, false);
  EXPECT_EQ(p.out(0), 4);
  EXPECT_EQ(p.out(1), 7);
  EXPECT_EQ(p.flops(), 2.0 * (2 * 4 * 4 * 7) * 3 * 6);
  EXPECT_EQ(p.bytes(), 4.0 * (2 * 6 * 35 + 4 * 3 * 6 + 2 * 4 * 28));
  EXPECT_EQ(p.strides_of(p.x_shape()), (std::vector<std::int64_t>{210, 35, 5, 1}));
  p.channels_last = true;
  EXPECT_EQ(p.strides_of(p.x_shape()), (std::vector<std::int64_t>{210, 1, 30, 6}));
  EXPECT_EQ(describe(p),
            "forward f32 nhwc n2 c6 k4 7x5 filter 3x2 stride 2x1 pad 1x2 dilation 1x2 groups 2");
}

TEST(Convolution, SaysWhatIsInconsistent) {
  const auto reason = [](auto change) {
    ConvolutionProblem p = odd_problem(2, false);
    change(p);
    const Status status = validate(p);
    return status.ok() ? std::string() : status.error().message;
  };
  EXPECT_EQ(reason([](ConvolutionProblem&) {}), "");
  EXPECT_EQ(reason([](ConvolutionProblem& p) { p.groups = 4; }),
            "groups=4 must divide c=6 and k=4 without remainder");
  EXPECT_THAT(reason([](ConvolutionProblem& p) { p.filter[0] = 10; }),
              HasSubstr("a filter of 10 with dilation 1 does not fit into an input of 7"));
  EXPECT_THAT(reason([](ConvolutionProblem& p) { p.stride[1] = 0; }), HasSubstr("must be 1"));
  EXPECT_THAT(reason([](ConvolutionProblem& p) { p.n = 0; }), HasSubstr("must be 1"));
  EXPECT_THAT(reason([](ConvolutionProblem& p) { p.dimensions = 1; }), HasSubstr("2 or 3"));
}

}  // namespace
}  // namespace assay

// Norms and rotation of heads, and their gradients, against references in double.
#include "model/operations/head_rotation.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/model_test.h"

namespace assay {
namespace {

constexpr double rotation_epsilon = 0.01;

class HeadRotations : public ModelTest {
 protected:
  /// Frequencies that turn every pair of a head's elements by another angle.
  static std::vector<double> frequencies(std::int64_t width) {
    std::vector<double> all;
    for (std::int64_t i = 0; i < width / 2; ++i) all.push_back(1 / (1 + 0.3 * double(i)));
    return all;
  }
};

/// One head's vector of the reference.
struct HeadVector {
  std::vector<double> x, weight;
  double inverse = 1;
  bool normed;

  HeadVector(const float* from, std::size_t width, const float* norm) : normed(norm != nullptr) {
    x.assign(from, from + width);
    weight.assign(width, 1);
    if (norm == nullptr) return;
    weight.assign(norm, norm + width);
    double squares = 0;
    for (const double e : x) squares += e * e / double(width);
    inverse = 1 / std::sqrt(squares + rotation_epsilon);
  }
  std::vector<double> normed_vector() const {
    std::vector<double> y;
    for (std::size_t i = 0; i < x.size(); ++i) y.push_back(x[i] * inverse * weight[i]);
    return y;
  }
};

void rotate_vector(std::vector<double>& x, const std::vector<double>& frequencies,
                   double position) {
  const std::size_t half = x.size() / 2;
  for (std::size_t i = 0; i < half; ++i) {
    const double c = std::cos(position * frequencies[i]), s = std::sin(position * frequencies[i]);
    const double low = x[i], high = x[half + i];
    x[i] = low * c - high * s;
    x[half + i] = high * c + low * s;
  }
}

TEST_P(HeadRotations, AndTheirGradients) {
  const AttentionShape shapes[] = {
      {2, 9, 3, 16, 1}, {1, 33, 4, 64, 2}, {1, 5, 2, 128}, {1, 3, 3, 80, 1}, {1, 3, 2, 256}};
  for (const AttentionShape& s : shapes) {
    for (const DataType type : types) {
      for (const bool with_norms : {false, true}) {
        const auto d = std::size_t(s.head_width), row = std::size_t(s.qkv_width()),
                   tokens = std::size_t(s.batch * s.sequence), heads = std::size_t(s.heads),
                   rotated = heads + std::size_t(s.heads_of_keys());
        const Values qkv = normal(type, tokens * row, 1), y = unknown(type, tokens * row);
        const Values query_norm = normal(type, d, 2, 1), key_norm = normal(type, d, 3, 1);
        const std::vector<double> turns = frequencies(s.head_width);
        HeadRotation rotation =
            HeadRotation::create(*device_, *stream_, type, turns, s.sequence, rotation_epsilon)
                .value();
        HeadRotation::Norms norms;
        if (with_norms) norms = {query_norm.buffer.data(), key_norm.buffer.data()};
        ASSERT_TRUE(rotation.forward(*stream_, y.buffer.data(), qkv.buffer.data(), norms, s));

        const Values dy = normal(type, tokens * row, 4);
        std::vector<double> expected(qkv.host.begin(), qkv.host.end()),
            expected_d(dy.host.begin(), dy.host.end());
        std::vector<double> to_norms[2] = {std::vector<double>(d), std::vector<double>(d)};
        for (std::size_t i = 0; i < tokens * rotated; ++i) {
          const std::size_t token = i / rotated, head = i % rotated, at = token * row + head * d;
          const Values& norm = head < heads ? query_norm : key_norm;
          const double position = double(token % std::size_t(s.sequence));
          const HeadVector of_head(&qkv.host[at], d, with_norms ? norm.host.data() : nullptr);
          std::vector<double> forward = of_head.normed_vector();
          rotate_vector(forward, turns, position);
          std::copy(forward.begin(), forward.end(), &expected[at]);
          std::vector<double> g(&expected_d[at], &expected_d[at] + d);
          rotate_vector(g, turns, -position);
          double mean = 0;
          for (std::size_t e = 0; e < d; ++e) {
            const double unit = of_head.x[e] * of_head.inverse;
            to_norms[head < heads ? 0 : 1][e] += g[e] * unit;
            mean += g[e] * of_head.weight[e] * unit / double(d);
          }
          for (std::size_t e = 0; e < d; ++e) {
            const double unit = of_head.x[e] * of_head.inverse;
            expected_d[at + e] =
                with_norms ? of_head.inverse * (g[e] * of_head.weight[e] - unit * mean) : g[e];
          }
        }
        expect_near(read(y, type), expected, type, "rotated");

        ColumnSums sums = ColumnSums::create(*device_, type).value();
        const Values scratch =
            unknown(DataType::f32, HeadRotation::scratch_bytes(s) / sizeof(float));
        for (const bool add : {false, true}) {
          const Values d_qkv = values(type, dy.host);
          const Values d_query = add ? normal(type, d, 5) : unknown(type, d),
                       d_key = add ? normal(type, d, 6) : unknown(type, d);
          ASSERT_TRUE(rotation.backward(*stream_, sums, d_qkv.buffer.data(),
                                        {d_query.buffer.data(), d_key.buffer.data()},
                                        qkv.buffer.data(), norms, scratch.buffer.data(), s, add));
          expect_near(read(d_qkv, type), expected_d, type, "gradient");
          if (!with_norms) continue;
          for (const auto& [found, to_norm] :
               {std::pair(&d_query, &to_norms[0]), {&d_key, &to_norms[1]}}) {
            std::vector<double> sum = *to_norm;
            for (std::size_t e = 0; add && e < d; ++e) sum[e] += found->host[e];
            expect_near(read(*found, type), sum, type, "gradient of a norm");
          }
        }
      }
    }
  }
}

TEST_P(HeadRotations, OfTooWideHeadsAreRefused) {
  EXPECT_FALSE(
      HeadRotation::create(*device_, *stream_, DataType::f32, frequencies(264), 4, 1e-5).ok());
}

ASSAY_KERNEL_BUILDS(HeadRotations);

}  // namespace
}  // namespace assay

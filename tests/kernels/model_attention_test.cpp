// Attention in each way that assay computes it itself, over awkward shapes, against its definition
// in double.
#include <gtest/gtest.h>

#include <cmath>

#include "model/operations/attention.h"
#include "model_test.h"

namespace assay {
namespace {

class ModelAttention : public ModelTest {};

/// Attention of one head after the other in double.
struct WholeAttention {
  std::vector<double> y, log_sum, d_qkv;

  WholeAttention(const AttentionShape& s, const std::vector<float>& qkv,
                 const std::vector<float>& dy)
      : y(dy.size()), log_sum(std::size_t(s.batch * s.heads * s.sequence)), d_qkv(qkv.size()) {
    const auto t = std::size_t(s.sequence), d = std::size_t(s.head_width);
    const std::size_t c = std::size_t(s.width());
    const double scale = 1 / std::sqrt(double(d));
    std::vector<double> p(t), dp(t);
    for (std::size_t head = 0; head < std::size_t(s.batch * s.heads); ++head) {
      const std::size_t h = head % std::size_t(s.heads), first = head / std::size_t(s.heads) * t;
      const auto at = [&](std::size_t token, std::size_t which) {
        return (first + token) * 3 * c + which * c + h * d;
      };
      for (std::size_t i = 0; i < t; ++i) {
        double largest = -1e300, total = 0, delta = 0;
        for (std::size_t j = 0; j <= i; ++j) {
          p[j] = dp[j] = 0;
          for (std::size_t k = 0; k < d; ++k) {
            p[j] += scale * qkv[at(i, 0) + k] * qkv[at(j, 1) + k];
            dp[j] += double(dy[(first + i) * c + h * d + k]) * qkv[at(j, 2) + k];
          }
          largest = std::max(largest, p[j]);
        }
        for (std::size_t j = 0; j <= i; ++j) total += std::exp(p[j] - largest);
        log_sum[head * t + i] = largest + std::log(total);
        for (std::size_t j = 0; j <= i; ++j) {
          p[j] = std::exp(p[j] - log_sum[head * t + i]);
          delta += p[j] * dp[j];
        }
        for (std::size_t j = 0; j <= i; ++j) {
          const double ds = scale * p[j] * (dp[j] - delta);
          for (std::size_t k = 0; k < d; ++k) {
            y[(first + i) * c + h * d + k] += p[j] * qkv[at(j, 2) + k];
            d_qkv[at(j, 2) + k] += p[j] * dy[(first + i) * c + h * d + k];
            d_qkv[at(i, 0) + k] += ds * qkv[at(j, 1) + k];
            d_qkv[at(j, 1) + k] += ds * qkv[at(i, 0) + k];
          }
        }
      }
    }
  }
};

/// Both ways, with scores so large that a few keys take nearly all weight.
TEST_P(ModelAttention, AttentionEitherWay) {
  const AttentionShape shapes[] = {{2, 70, 2, 32}, {1, 129, 2, 64}, {1, 65, 1, 128}, {1, 1, 3, 64}};
  for (const AttentionShape& s : shapes) {
    const auto rows = std::size_t(s.batch * s.sequence), c = std::size_t(s.width());
    for (const auto& [type, own] : {std::pair(DataType::f32, false),
                                    {DataType::bf16, false},
                                    {DataType::bf16, true},
                                    {DataType::f16, false},
                                    {DataType::f16, true}}) {
      Values qkv = normal(type, rows * 3 * c, 1);
      for (float& x : qkv.host) x *= 1.6f;
      qkv = values(type, qkv.host);
      const Values dy = normal(type, rows * c, 2), y = unknown(type, rows * c);
      const Values d_qkv = unknown(type, rows * 3 * c);
      const auto squares = std::size_t(s.batch * s.heads * s.sequence * s.sequence);
      const Values probabilities = unknown(type, squares);
      const Values log_sum = unknown(DataType::f32, std::size_t(s.batch * s.heads * s.sequence));
      const Values scratch = unknown(DataType::f32, 2 * squares + rows * c);
      GemmPlans plans(*device_, *stream_, {.measure = false, .own_if_none = true}, ChoiceCache({}));
      auto attention = own ? own_attention(*device_, type, s.head_width)
                           : plain_attention(*device_, plans, type);
      ASSERT_TRUE(attention) << attention.error().message;
      const AttentionMemory memory = {probabilities.buffer.data(), log_sum.buffer.data(),
                                      scratch.buffer.data()};
      ASSERT_TRUE((*attention)->forward(*stream_, y.buffer.data(), qkv.buffer.data(), memory, s));
      ASSERT_TRUE((*attention)
                      ->backward(*stream_, d_qkv.buffer.data(), dy.buffer.data(), y.buffer.data(),
                                 qkv.buffer.data(), memory, s));
      const WholeAttention expected(s, qkv.host, dy.host);
      const std::string what = own ? "own" : "plain";
      expect_near(read(y, type), expected.y, type, what + " y");
      expect_near(read(d_qkv, type), expected.d_qkv, type, what + " gradient");
      if (!own) continue;
      const std::vector<float> found = read(log_sum, DataType::f32);
      for (std::size_t i = 0; i < found.size(); ++i) {
        ASSERT_NEAR(found[i], expected.log_sum[i], 1e-4) << i;
      }
    }
  }
}

ASSAY_KERNEL_BUILDS(ModelAttention);

}  // namespace
}  // namespace assay

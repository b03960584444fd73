// Attention in each way that assay computes it itself, over awkward shapes, against its definition
// in double.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "model/operations/attention.h"
#include "support/model_test.h"

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
    const std::size_t c = std::size_t(s.width()), row = std::size_t(s.qkv_width());
    const auto heads = std::size_t(s.heads), kv_heads = std::size_t(s.heads_of_keys());
    const double scale = 1 / std::sqrt(double(d));
    std::vector<double> p(t), dp(t);
    for (std::size_t head = 0; head < std::size_t(s.batch * s.heads); ++head) {
      const std::size_t h = head % std::size_t(s.heads), first = head / std::size_t(s.heads) * t;
      const auto at = [&](std::size_t token, std::size_t which) {  // of queries, keys and values
        const std::size_t shared = h / (heads / kv_heads);
        const std::size_t of = which == 0 ? h : heads + (which - 1) * kv_heads + shared;
        return (first + token) * row + of * d;
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
  const AttentionShape shapes[] = {{2, 70, 2, 32},    {1, 129, 2, 64},   {1, 65, 1, 128},
                                   {1, 1, 3, 64},     {1, 70, 4, 32, 2}, {1, 65, 3, 64, 1},
                                   {1, 65, 2, 128, 1}};
  for (const AttentionShape& s : shapes) {
    const auto rows = std::size_t(s.batch * s.sequence), c = std::size_t(s.width()),
               packed = std::size_t(s.qkv_width());
    for (const auto& [type, own] : {std::pair(DataType::f32, false),
                                    {DataType::bf16, false},
                                    {DataType::bf16, true},
                                    {DataType::f16, false},
                                    {DataType::f16, true}}) {
      Values qkv = normal(type, rows * packed, 1);
      for (float& x : qkv.host) x *= 1.6f;
      qkv = values(type, qkv.host);
      const Values dy = normal(type, rows * c, 2), y = unknown(type, rows * c);
      const Values d_qkv = unknown(type, rows * packed);
      const auto squares = std::size_t(s.batch * s.heads * s.sequence * s.sequence);
      const Values probabilities = unknown(type, squares);
      const Values log_sum = unknown(DataType::f32, std::size_t(s.batch * s.heads * s.sequence));
      const std::size_t of_own =
          flash_attention_scratch_bytes(s.batch * s.heads, s.sequence, s.head_width) /
          sizeof(float);
      const Values scratch = unknown(DataType::f32, own ? of_own : 2 * squares);
      GemmPlans plans(*device_, *stream_, {.measure = false, .own_if_none = true}, ChoiceCache({}));
      auto attention = own ? flash_attention(*device_, type, s.head_width)
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

/// Own attention of one sequence, forward and backward.
struct OwnPass {
  std::vector<float> y, d_qkv;
};

class OwnAttentionGradients : public ModelTest {
 protected:
  OwnPass pass(DataType type, const AttentionShape& s, const Values& qkv, const Values& dy,
               FlashKind kind = FlashKind::waves) {
    const Values y = unknown(type, dy.host.size()), d_qkv = unknown(type, qkv.host.size());
    const Values log_sum = unknown(DataType::f32, std::size_t(s.batch * s.heads * s.sequence));
    const Values scratch = unknown(
        DataType::f32,
        flash_attention_scratch_bytes(s.batch * s.heads, s.sequence, s.head_width) / sizeof(float));
    auto attention = flash_attention(*device_, type, s.head_width, {.kind = kind});
    EXPECT_TRUE(attention) << attention.error().message;
    const AttentionMemory memory = {nullptr, log_sum.buffer.data(), scratch.buffer.data()};
    EXPECT_TRUE((*attention)->forward(*stream_, y.buffer.data(), qkv.buffer.data(), memory, s));
    EXPECT_TRUE((*attention)
                    ->backward(*stream_, d_qkv.buffer.data(), dy.buffer.data(), y.buffer.data(),
                               qkv.buffer.data(), memory, s));
    return {read(y, type), read(d_qkv, type)};
  }
};

/// Their sums are integers in units of a bound: where one key, one column of keys and values, and
/// one query are far larger than all others, what is small must keep its digits.
TEST_P(OwnAttentionGradients, SmallOnesKeepTheirDigitsBesideLargeOnes) {
  const AttentionShape s = {1, 150, 1, 32};
  const std::size_t d = 32, row = 3 * d;
  for (const DataType type : {DataType::bf16, DataType::f16}) {
    Values qkv = normal(type, 150 * row, 1), dy = normal(type, 150 * d, 2);
    for (std::size_t i = 0; i < qkv.host.size(); ++i) {
      const std::size_t token = i / row, part = i % row / d, column = i % d;
      float& x = qkv.host[i];
      x *= part == 0 ? 0.25f : 0.01f;
      if (part > 0 && (token == 140 || column == 3)) x *= 100;
      if (part > 0 && column == 5) x = 0;
    }
    // f16 has no small numbers, so the gradients are enlarged as by a loss scale.
    const float scaled = type == DataType::f16 ? 4096 : 1;
    for (std::size_t i = 0; i < dy.host.size(); ++i) {
      dy.host[i] *= scaled * (i / d == 7 ? 1.0f : 0.01f);
    }
    qkv = values(type, qkv.host);
    dy = values(type, dy.host);
    const OwnPass found = pass(type, s, qkv, dy);
    const WholeAttention expected(s, qkv.host, dy.host);
    // Each query and each kind of column by itself.
    for (std::size_t token = 1; token < 150; ++token) {
      double difference = 0, size = 0;
      for (std::size_t column = 0; column < d; ++column) {
        const std::size_t at = token * row + column;
        if (column == 5) EXPECT_EQ(found.d_qkv[at], 0);
        if (column == 3) continue;
        difference += std::pow(found.d_qkv[at] - expected.d_qkv[at], 2);
        size += std::pow(expected.d_qkv[at], 2);
      }
      EXPECT_LT(std::sqrt(difference / size), type == DataType::bf16 ? 3e-2 : 1e-2)
          << name_of(type) << " query " << token;
    }
  }
}

/// A gradient that is no number may not become one in an integer.
TEST_P(OwnAttentionGradients, WhatIsNotANumberStaysSo) {
  const AttentionShape s = {1, 70, 1, 32};
  const std::size_t d = 32, row = 3 * d;
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), infinity}) {
    const Values good = normal(DataType::bf16, 70 * row, 1);
    std::vector<float> gradient = normal(DataType::bf16, 70 * d, 2).host;
    gradient[66 * d + 9] = bad;
    const OwnPass found = pass(DataType::bf16, s, good, values(DataType::bf16, gradient));
    for (std::size_t token = 0; token < 70; ++token) {
      for (std::size_t column = 0; column < d; ++column) {
        EXPECT_EQ(std::isfinite(found.d_qkv[token * row + column]), token != 66)
            << bad << " query " << token;
      }
    }
    std::vector<float> keys = good.host;
    keys[3 * row + d + 11] = bad;
    gradient[66 * d + 9] = 1;
    const OwnPass with_key =
        pass(DataType::bf16, s, values(DataType::bf16, keys), values(DataType::bf16, gradient));
    EXPECT_FALSE(std::isfinite(with_key.d_qkv[5 * row + 11])) << bad;
    // A query whose score is no number, or an infinite one, has no gradient in any column.
    for (std::size_t token = 3; token < 70; ++token) {
      if (!std::isnan(bad) && good.host[token * row + 11] <= 0) continue;
      for (std::size_t column = 0; column < d; ++column) {
        EXPECT_FALSE(std::isfinite(with_key.d_qkv[token * row + column]))
            << bad << " key, query " << token << ", column " << column;
      }
    }
  }
  for (const std::int64_t width : {32, 64}) {
    const auto w = std::size_t(width);
    std::vector<float> queries = normal(DataType::bf16, 70 * 3 * w, 1).host;
    queries[66 * 3 * w + 7] = std::numeric_limits<float>::quiet_NaN();
    const OwnPass with_query =
        pass(DataType::bf16, {1, 70, 1, width}, values(DataType::bf16, queries),
             normal(DataType::bf16, 70 * w, 2), width == 64 ? FlashKind::groups : FlashKind::waves);
    for (std::size_t token = 0; token < 70; ++token) {
      for (std::size_t column = 0; column < w; ++column) {
        EXPECT_EQ(std::isfinite(with_query.d_qkv[token * 3 * w + column]), token != 66)
            << "queries " << width << " wide, " << token;
      }
    }
  }
  // Without a gradient of the output there is no gradient at all.
  const OwnPass none = pass(DataType::bf16, s, normal(DataType::bf16, 70 * row, 1),
                            values(DataType::bf16, std::vector<float>(70 * d, 0)));
  EXPECT_EQ(none.d_qkv, std::vector<float>(70 * row, 0));
}

/// From the least bound whose unit is a number to the largest number: gradients of results of 2^110
/// give gradients 2^110 as large, and keys of 2^-97 none that is no number.
TEST_P(OwnAttentionGradients, BoundsMayBeAnyNumbers) {
  const AttentionShape s = {1, 70, 1, 32};
  const std::size_t d = 32, row = 3 * d;
  const Values qkv = normal(DataType::bf16, 70 * row, 1), dy = normal(DataType::bf16, 70 * d, 2);
  const OwnPass usual = pass(DataType::bf16, s, qkv, dy);
  std::vector<float> large = dy.host, keys = qkv.host;
  for (float& x : large) x *= 0x1p110f;
  const OwnPass found = pass(DataType::bf16, s, qkv, values(DataType::bf16, large));
  for (std::size_t i = 0; i < found.d_qkv.size(); ++i) {
    // But for units, which are not finer for what is larger.
    EXPECT_NEAR(found.d_qkv[i] / 0x1p110f, usual.d_qkv[i], 1e-2 * std::abs(usual.d_qkv[i]) + 1e-6);
  }
  for (std::size_t token = 0; token < 70; ++token) keys[token * row + d + 5] = 0x1p-97f;
  const OwnPass tiny = pass(DataType::bf16, s, values(DataType::bf16, keys), dy);
  for (std::size_t token = 0; token < 70; ++token) {
    EXPECT_NEAR(tiny.d_qkv[token * row + 5], 0, 1e-25) << token;
  }
}

/// What the environment names is taken where nobody asks for a kind.
TEST_P(OwnAttentionGradients, TheEnvironmentNamesTheKind) {
  const auto detail = [&](const char* word) {
    setenv("ASSAY_OWN_ATTENTION", word, 1);
    auto made = flash_attention(*device_, DataType::bf16, 64);
    unsetenv("ASSAY_OWN_ATTENTION");
    return made.ok() ? (*made)->detail() : made.error().message;
  };
  EXPECT_EQ(detail("waves"), "");
  EXPECT_THAT(detail("groups"), testing::HasSubstr("forward: groups of 4 waves"));
  EXPECT_THAT(detail("groups"), testing::HasSubstr("backward: groups of 4 waves"));
  EXPECT_THAT(detail("warps"), testing::HasSubstr("allowed: waves, groups"));
}

/// Inference builds no kernels that it does not launch.
TEST_P(OwnAttentionGradients, TheForwardPassCanBeMadeAlone) {
  auto made =
      flash_attention(*device_, DataType::bf16, 64, {.kind = FlashKind::groups, .backward = false});
  ASSERT_TRUE(made) << made.error().message;
  ASSERT_THAT((*made)->detail(), testing::Not(testing::HasSubstr("backward")));
  const Status backward =
      (*made)->backward(*stream_, nullptr, nullptr, nullptr, nullptr, {}, {1, 1, 1, 64});
  ASSERT_FALSE(backward);
  EXPECT_EQ(backward.error().message, "own attention was made for the forward pass alone");
}

/// The kernels for warpgroups compute the same as those for single waves; one source serves Hopper
/// and all other devices.
TEST_P(ModelAttention, GroupsOfWavesGiveTheSame) {
  const AttentionShape shapes[] = {{1, 1, 3, 64},      {2, 70, 2, 64},     {1, 150, 1, 128},
                                   {1, 64, 2, 128, 1}, {1, 130, 4, 64, 2}, {1, 257, 1, 64},
                                   {2, 33, 1, 128}};
  for (const AttentionShape& s : shapes) {
    const auto rows = std::size_t(s.batch * s.sequence), packed = std::size_t(s.qkv_width());
    for (const DataType type : {DataType::bf16, DataType::f16}) {
      Values qkv = normal(type, rows * packed, 1);
      for (float& x : qkv.host) x *= 1.6f;
      qkv = values(type, qkv.host);
      const Values y = unknown(type, rows * std::size_t(s.width()));
      const Values dy = normal(type, rows * std::size_t(s.width()), 2);
      const Values log_sum = unknown(DataType::f32, std::size_t(s.batch * s.heads * s.sequence));
      auto attention = flash_attention(*device_, type, s.head_width, {.kind = FlashKind::groups});
      ASSERT_TRUE(attention) << attention.error().message;
      EXPECT_THAT((*attention)->detail(), testing::HasSubstr("forward: groups of 4 waves"));
      if (device_->facts().runs_on_host || s.head_width == 64) {  // else LDS is too small
        EXPECT_THAT((*attention)->detail(), testing::HasSubstr("backward: groups of 4 waves"));
      }
      const Values scratch =
          unknown(DataType::f32,
                  flash_attention_scratch_bytes(s.batch * s.heads, s.sequence, s.head_width) /
                      sizeof(float));
      const AttentionMemory memory = {nullptr, log_sum.buffer.data(), scratch.buffer.data()};
      ASSERT_TRUE((*attention)->forward(*stream_, y.buffer.data(), qkv.buffer.data(), memory, s));
      const WholeAttention expected(s, qkv.host, dy.host);
      expect_near(read(y, type), expected.y, type, "y");
      const Values d_qkv = unknown(type, rows * packed);
      ASSERT_TRUE((*attention)
                      ->backward(*stream_, d_qkv.buffer.data(), dy.buffer.data(), y.buffer.data(),
                                 qkv.buffer.data(), memory, s));
      expect_near(read(d_qkv, type), expected.d_qkv, type, "gradient");
      const std::vector<float> found = read(log_sum, DataType::f32);
      for (std::size_t i = 0; i < found.size(); ++i) {
        ASSERT_NEAR(found[i], expected.log_sum[i], 1e-4) << i;
      }
    }
  }
}

ASSAY_KERNEL_BUILDS(ModelAttention);
ASSAY_KERNEL_BUILDS(OwnAttentionGradients);

}  // namespace
}  // namespace assay

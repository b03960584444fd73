// Log probabilities of tokens from the device, against those that sorting and sums in double
// precision give.
#include "model/operations/token_logprobs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "model/operations/token_sampling.h"
#include "support/model_test.h"

namespace assay {
namespace {

/// Tokens in the order of their logits, equal ones in that of their numbers.
std::vector<std::int32_t> order_of(std::span<const float> logits) {
  std::vector<std::int32_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return logits[static_cast<std::size_t>(a)] > logits[static_cast<std::size_t>(b)];
  });
  return order;
}

double log_sum_of(std::span<const float> logits) {
  const double largest = static_cast<double>(*std::max_element(logits.begin(), logits.end()));
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - largest);
  return largest + std::log(sum);
}

class LogprobsOfTokens : public ModelTest {
 protected:
  static constexpr std::int64_t vocabulary = 2003, columns = 2048, rows = 6;

  /// Every row of logits, whose chosen tokens are `next`.
  void expect_as_sorted(DataType type, const std::vector<float>& wanted_logits,
                        const std::vector<std::int32_t>& next,
                        const std::vector<LogprobRow>& wanted) {
    const Values logits = values(type, wanted_logits);
    const Buffer chosen = upload(next);
    TokenLogprobs logprobs = TokenLogprobs::create(*device_, type, rows).value();
    ASSERT_TRUE(
        logprobs.find_likeliest(*stream_, logits.buffer.data(), wanted, vocabulary, columns));
    ASSERT_TRUE(
        logprobs.find_chosen(*stream_, chosen.data(), logits.buffer.data(), columns, nullptr));
    std::vector<RowLogprobs> found(wanted.size());
    ASSERT_TRUE(logprobs.copy_to(*stream_, found));
    ASSERT_TRUE(stream_->synchronize());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const auto row = static_cast<std::size_t>(wanted[i].row);
      const auto of_row = std::span(logits.host).subspan(row * columns, vocabulary);
      const std::vector<std::int32_t> order = order_of(of_row);
      const double log_sum = log_sum_of(of_row);
      const auto logprob = [&](std::int32_t token) {
        return static_cast<double>(of_row[static_cast<std::size_t>(token)]) - log_sum;
      };
      EXPECT_NEAR(found[i].of(found[i].chosen), logprob(next[row]), 1e-5) << name_of(type);
      for (std::size_t n = 0; n < static_cast<std::size_t>(wanted[i].count); ++n) {
        EXPECT_EQ(found[i].tokens[n], order[n]) << name_of(type) << ", row " << row << ", " << n;
        EXPECT_NEAR(found[i].of(found[i].logits[n]), logprob(order[n]), 1e-5) << name_of(type);
      }
    }
  }
};

/// In bf16 many logits are equal.
TEST_P(LogprobsOfTokens, AreThoseOfSorting) {
  Random random(5);
  for (const DataType type : {DataType::f32, DataType::bf16}) {
    for (const double spread : {0.01, 1.0, 20.0}) {
      std::vector<float> logits(static_cast<std::size_t>(rows * columns));
      for (float& x : logits) x = static_cast<float>(random.normal() * spread - 2);
      for (std::int64_t row = 0; row < rows; ++row) {  // what pads the vocabulary is no token
        std::fill_n(logits.begin() + row * columns + vocabulary, columns - vocabulary, 99.0f);
      }
      expect_as_sorted(type, logits, {7, 2002, 0, 1000, 1001, 5},
                       {{4, 20}, {0, 1}, {2, 0}, {5, 20}, {1, 5}});
    }
  }
}

TEST_P(LogprobsOfTokens, OfEqualAndOfInfinitelyUnlikelyTokens) {
  const float never = -std::numeric_limits<float>::infinity();
  std::vector<float> logits(static_cast<std::size_t>(rows * columns), 1.5f);
  for (std::int64_t i = columns; i < 2 * columns; ++i) {
    logits[static_cast<std::size_t>(i)] = i % 300 == 17 ? -1.0f : never;
  }
  expect_as_sorted(DataType::f32, logits, {1, 69, 0, 0, 0, 0}, {{0, 20}, {1, 6}});
}

/// Penalties change which tokens are chosen, and no log probability. Each row has its own.
TEST_P(LogprobsOfTokens, AreThoseBeforePenalties) {
  const Values logits = values(DataType::f32, {2, -2, 0.5f, 1, -8, 4, 3, 0,  //
                                               1, 2, 3, -0.5f, 5, 6, 7, 8});
  const Buffer next = upload(std::vector<std::int32_t>{5, 5});
  const Buffer penalties = upload(std::vector<TokenPenalty>{{.row = 0, .token = 6, .amount = 1},
                                                            {.row = 0, .token = 5, .amount = 3},
                                                            {.row = 1, .token = 7, .amount = 9},
                                                            {.row = 1, .token = 5, .amount = 2}});
  TokenLogprobs logprobs = TokenLogprobs::create(*device_, DataType::f32, 2).value();
  TokenSampling sampling = TokenSampling::create(*device_, DataType::f32, 2).value();
  const std::vector<LogprobRow> wanted = {
      {.row = 1, .count = 2, .first_penalty = 2, .penalties = 2},
      {.row = 0, .count = 2, .first_penalty = 0, .penalties = 2}};
  ASSERT_TRUE(logprobs.find_likeliest(*stream_, logits.buffer.data(), wanted, 8, 8));
  ASSERT_TRUE(sampling.penalize(*stream_, logits.buffer.data(), penalties.data(), 4, 8));
  ASSERT_TRUE(
      logprobs.find_chosen(*stream_, next.data(), logits.buffer.data(), 8, penalties.data()));
  std::vector<RowLogprobs> found(2);
  ASSERT_TRUE(logprobs.copy_to(*stream_, found));
  ASSERT_TRUE(stream_->synchronize());
  EXPECT_EQ(found[0].chosen, 6);
  EXPECT_EQ(found[0].tokens[0], 7);
  EXPECT_EQ(found[1].chosen, 4);
  EXPECT_EQ(found[1].tokens[0], 5);
  EXPECT_EQ(found[1].tokens[1], 6);
  EXPECT_EQ(found[1].logits[1], 3);
}

TEST_P(LogprobsOfTokens, MoreThanThereAreIsAnError) {
  const Values logits = values(DataType::f32, std::vector<float>(16, 1.0f));
  TokenLogprobs logprobs = TokenLogprobs::create(*device_, DataType::f32, 1).value();
  const auto why = [&](std::vector<LogprobRow> wanted, std::int64_t tokens) {
    const Status status =
        logprobs.find_likeliest(*stream_, logits.buffer.data(), wanted, tokens, 8);
    return status.ok() ? "" : status.error().message;
  };
  EXPECT_EQ(why({{0, 9}}, 8), "log probabilities of the 9 likeliest tokens, allowed are 0 to 8");
  EXPECT_EQ(why({{0, 1}, {1, 1}}, 8), "log probabilities of 2 rows, allowed are 1");
}

ASSAY_KERNEL_BUILDS(LogprobsOfTokens);

}  // namespace
}  // namespace assay

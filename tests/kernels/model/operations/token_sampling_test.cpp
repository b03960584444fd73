// Tokens drawn on the device against those that sorting and sums in double precision give.
#include "model/operations/token_sampling.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "support/model_test.h"
#include "support/reference_sampling.h"

namespace assay {
namespace {

class TokensDrawn : public ModelTest {
 protected:
  /// Draws a token of each row by the kernel and by the reference, and compares them.
  void expect_as_sorted(DataType type, const std::vector<float>& wanted, std::int64_t vocabulary,
                        std::int64_t columns, const std::vector<DrawnRow>& drawn) {
    const Values logits = values(type, wanted);
    const auto rows = std::ssize(wanted) / columns;
    std::vector<std::int32_t> most_likely;
    for (std::int64_t row = 0; row < rows; ++row) {
      const auto begin = logits.host.begin() + row * columns;
      most_likely.push_back(
          static_cast<std::int32_t>(std::max_element(begin, begin + vocabulary) - begin));
    }
    const Buffer next = upload(most_likely), how = upload(drawn);
    TokenSampling sampling = TokenSampling::create(*device_, type, 64).value();
    ASSERT_TRUE(sampling.draw(*stream_, next.data(), logits.buffer.data(), how.data(),
                              std::ssize(drawn), vocabulary, columns));
    std::vector<std::int32_t> expected = most_likely;
    for (const DrawnRow& row : drawn) {
      const auto at = static_cast<std::size_t>(row.row);
      expected[at] = reference_draw(std::span(logits.host)
                                        .subspan(at * static_cast<std::size_t>(columns),
                                                 static_cast<std::size_t>(vocabulary)),
                                    row);
    }
    const std::vector<std::int32_t> found = download<std::int32_t>(next.data(), expected.size());
    for (const DrawnRow& row : drawn) {
      const auto at = static_cast<std::size_t>(row.row);
      EXPECT_EQ(found[at], expected[at])
          << name_of(type) << ", temperature " << row.temperature << ", top_p " << row.top_p
          << ", min_p " << row.min_p << ", top_k " << row.top_k << ", uniform " << row.uniform;
    }
    EXPECT_EQ(found, expected) << "rows that are not drawn";
  }
};

/// Every combination of limits; logits that are spread widely or narrowly, and many equal ones.
TEST_P(TokensDrawn, AreThoseOfSorting) {
  constexpr std::int64_t vocabulary = 2003, columns = 2048, rows = 20;
  Random random(11);
  for (const DataType type : {DataType::f32, DataType::bf16}) {
    for (const double spread : {0.05, 1.0, 6.0}) {
      std::vector<float> logits(static_cast<std::size_t>(rows * columns));
      for (float& x : logits) x = static_cast<float>(random.normal() * spread + 0.5);
      for (std::int64_t row = 0; row < rows; ++row) {  // what pads the vocabulary is never drawn
        std::fill_n(logits.begin() + row * columns + vocabulary, columns - vocabulary, 99.0f);
      }
      std::vector<DrawnRow> drawn;
      for (std::int64_t row = 0; row < rows; ++row) {
        if (row % 10 == 3) continue;  // greedy ones between them
        DrawnRow how = {.uniform = random.uniform(), .row = row};
        how.temperature = std::array{0.1, 0.7, 1.0, 5.0}[random.next() % 4];
        how.top_p = std::array{1.0, 0.95, 0.5, 0.01}[random.next() % 4];
        how.min_p = std::array{0.0, 0.0, 0.02, 0.9}[random.next() % 4];
        how.top_k = std::array{0, 0, 1, 50, 1500, 5000}[random.next() % 6];
        drawn.push_back(how);
      }
      expect_as_sorted(type, logits, vocabulary, columns, drawn);
    }
  }
}

/// Rows of which more tokens than a list holds lie in one part of the order, or have one logit.
TEST_P(TokensDrawn, OfLogitsThatHardlyDiffer) {
  constexpr std::int64_t vocabulary = 5003, columns = 5008, rows = 6;
  Random random(12);
  for (const DataType type : {DataType::f32, DataType::bf16}) {
    std::vector<float> logits(static_cast<std::size_t>(rows * columns));
    for (float& x : logits) x = static_cast<float>(1 + random.uniform() * 0.01);
    std::vector<DrawnRow> drawn;
    for (std::int64_t row = 0; row < rows; ++row) {
      drawn.push_back({.top_p = row % 2 == 0 ? 1 : 0.7,
                       .uniform = random.uniform(),
                       .row = row,
                       .top_k = row % 3 == 0 ? 3000 : 0});
    }
    expect_as_sorted(type, logits, vocabulary, columns, drawn);
  }
}

/// Equal logits are drawn in the order of their tokens; zeros of both signs are equal; infinitely
/// unlikely tokens are not drawn; the ends of the random numbers.
TEST_P(TokensDrawn, OfEqualLogitsInTheirOrder) {
  constexpr std::int64_t vocabulary = 1000, columns = 1008, rows = 8;
  const float never = -std::numeric_limits<float>::infinity();
  std::vector<float> logits(static_cast<std::size_t>(rows * columns), 0.0f);
  for (std::size_t i = 0; i < logits.size(); i += 2) logits[i] = -0.0f;
  for (std::int64_t i = 0; i < columns; ++i) {
    logits[static_cast<std::size_t>(6 * columns + i)] = i % 7 == 3 ? 2.0f : never;
    logits[static_cast<std::size_t>(7 * columns + i)] = i < 500 ? 3.0f : 1.0f;
  }
  std::vector<DrawnRow> drawn;
  for (const double uniform : {0.0, 0.25, 0.5, 0.731, 0.999, 1 - 0x1p-53}) {
    drawn.push_back(
        {.uniform = uniform, .row = std::ssize(drawn), .top_k = uniform == 0.5 ? 10 : 0});
  }
  drawn.push_back({.uniform = 0.6, .row = 6});
  drawn.push_back({.top_p = 0.4, .uniform = 0.9, .row = 7});
  expect_as_sorted(DataType::f32, logits, vocabulary, columns, drawn);
}

/// Where the largest logit is no number or infinite, nothing has a weight, and the token stays.
TEST_P(TokensDrawn, NotWhereNoLogitHasAWeight) {
  const float infinite = std::numeric_limits<float>::infinity();
  std::vector<float> logits;
  for (const float largest : {infinite, -infinite, std::nanf("")}) {
    logits.resize(logits.size() + 8, largest == infinite ? 1.0f : -infinite);
    logits[logits.size() - 5] = largest;
  }
  const std::vector<DrawnRow> drawn = {
      {.uniform = 0.5, .row = 0}, {.top_p = 0.5, .row = 1}, {.row = 2, .top_k = 1}};
  const Values there = values(DataType::f32, logits);
  const Buffer next = upload(std::vector<std::int32_t>(3, 3)), how = upload(drawn);
  TokenSampling sampling = TokenSampling::create(*device_, DataType::f32, 2000).value();
  ASSERT_TRUE(sampling.draw(*stream_, next.data(), there.buffer.data(), how.data(), 3, 8, 8));
  EXPECT_EQ(download<std::int32_t>(next.data(), 3), (std::vector<std::int32_t>{3, 3, 3}));
}

TEST_P(TokensDrawn, AsOftenAsTheirProbabilitySays) {
  const std::vector<float> of_row = {0, std::log(3.0f), -100, std::log(6.0f)};  // 1 : 3 : 0 : 6
  constexpr std::int64_t rows = 2000, columns = 8;
  std::vector<float> logits;
  std::vector<DrawnRow> drawn;
  Random random(7);
  for (std::int64_t row = 0; row < rows; ++row) {
    logits.insert(logits.end(), of_row.begin(), of_row.end());
    logits.resize(logits.size() + 4, 0.0f);
    drawn.push_back({.uniform = random.uniform(), .row = row});
  }
  const Values there = values(DataType::f32, logits);
  const Buffer next = upload(std::vector<std::int32_t>(rows, 3)), how = upload(drawn);
  TokenSampling sampling = TokenSampling::create(*device_, DataType::f32, 2000).value();
  ASSERT_TRUE(
      sampling.draw(*stream_, next.data(), there.buffer.data(), how.data(), rows, 4, columns));
  std::array<int, 4> counts = {};
  for (const std::int32_t token : download<std::int32_t>(next.data(), rows)) {
    ++counts.at(static_cast<std::size_t>(token));
  }
  EXPECT_NEAR(counts[0], rows * 0.1, 60);
  EXPECT_NEAR(counts[1], rows * 0.3, 90);
  EXPECT_EQ(counts[2], 0);
}

TEST_P(TokensDrawn, PenaltiesMakeLogitsSmaller) {
  for (const DataType type : {DataType::f32, DataType::bf16}) {
    const Values logits = values(type, {2, -2, 0.5f, 1, -8, 4, 3, 0, 1, 1, 1, 1, 1, 1, 1, 1});
    const std::vector<TokenPenalty> penalties = {
        {.row = 0, .token = 0, .divisor = 2},
        {.row = 0, .token = 1, .divisor = 2},
        {.row = 0, .token = 5, .amount = 1.5f},
        {.row = 1, .token = 7, .divisor = 4, .amount = -1}};
    const Buffer there = upload(penalties);
    TokenSampling sampling = TokenSampling::create(*device_, type, 64).value();
    ASSERT_TRUE(
        sampling.penalize(*stream_, logits.buffer.data(), there.data(), std::ssize(penalties), 8));
    EXPECT_EQ(read(logits, type),
              (std::vector<float>{1, -4, 0.5f, 1, -8, 2.5f, 3, 0, 1, 1, 1, 1, 1, 1, 1, 1.25f}));
    std::vector<float> before;
    for (const TokenPenalty& one : download<TokenPenalty>(there.data(), penalties.size())) {
      before.push_back(one.logit);
    }
    EXPECT_EQ(before, (std::vector<float>{2, -2, 4, 1}));
  }
}

ASSAY_KERNEL_BUILDS(TokensDrawn);

}  // namespace
}  // namespace assay

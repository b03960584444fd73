#include "model/operations/prompt_classes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace assay {
namespace {

using testing::ElementsAre;

constexpr PromptLimits usual = {.tokens = 2048, .sequences = 256, .length = 8192};

TEST(PromptClasses, AreFew) {
  const std::vector<PromptClass> classes = prompt_classes(usual);
  EXPECT_EQ(classes.size(), 13u);
  EXPECT_EQ(classes.front(), (PromptClass{128, 1}));
  EXPECT_EQ(classes.back(), (PromptClass{2048, 1}));
  EXPECT_THAT(prompt_classes({.tokens = 64, .sequences = 2, .length = 64}),
              ElementsAre(PromptClass{128, 1}, PromptClass{128, 4}));
}

TEST(PromptClasses, HoldAllPassesWithinTheLimits) {
  const std::vector<PromptClass> classes = prompt_classes(usual);
  std::vector<std::int32_t> numbers;
  for (const std::int32_t length : {1, 2, 8, 127, 128, 129, 256, 257, 511, 512, 1025, 2048}) {
    const auto count = std::min<std::int32_t>(2048 / length, 256);
    const std::vector<PromptRows> prompts = {{0, length, count}};
    for (const PromptCall& call : classify_prompts(prompts, 10, 3, numbers)) {
      EXPECT_TRUE(std::ranges::find(classes, call.of) != classes.end())
          << call.of.length << " x " << call.of.count;
    }
    EXPECT_LE(numbers.size(), most_prompt_numbers(usual)) << length;
  }
}

TEST(PromptClasses, SayWhereEachPromptLies) {
  std::vector<std::int32_t> numbers;
  const std::vector<PromptRows> prompts = {{1, 7, 2}, {20, 200, 1}, {220, 3, 1}};
  const auto calls = classify_prompts(prompts, 10, 3, numbers);
  ASSERT_EQ(calls.size(), 2u);
  const auto part = [&](std::size_t begin, std::size_t count) {
    return std::vector<std::int32_t>(numbers.begin() + std::ptrdiff_t(begin),
                                     numbers.begin() + std::ptrdiff_t(begin + count));
  };
  EXPECT_EQ(calls[0].of, (PromptClass{128, 4}));  // the fourth is not there
  EXPECT_THAT(part(calls[0].lengths, 4), ElementsAre(7, 7, 3, 0));
  EXPECT_THAT(part(calls[0].qkv_offsets, 5), ElementsAre(10, 80, 2200, 2230, 2230));
  EXPECT_THAT(part(calls[0].y_offsets, 5), ElementsAre(3, 24, 660, 669, 669));
  EXPECT_EQ(calls[1].of, (PromptClass{256, 1}));
  EXPECT_THAT(part(calls[1].lengths, 1), ElementsAre(200));
  EXPECT_THAT(part(calls[1].qkv_offsets, 2), ElementsAre(200, 2200));
  EXPECT_THAT(part(calls[1].y_offsets, 2), ElementsAre(60, 660));
  for (const PromptCall& call : calls) {
    for (const std::size_t begin : {call.lengths, call.qkv_offsets, call.y_offsets}) {
      EXPECT_EQ(begin % 4, 0u);
    }
  }
}

TEST(PromptClasses, HaveACallThatNeedsOneRow) {
  std::vector<std::int32_t> numbers = {9, 9, 9};
  const PromptCall call = least_call({512, 4}, 10, 3, numbers);
  EXPECT_EQ(call.of, (PromptClass{512, 4}));
  EXPECT_THAT(numbers, ElementsAre(1, 0, 0, 0,                  // lengths
                                   0, 10, 10, 10, 10, 0, 0, 0,  // ends are in qkv's first row
                                   0, 3, 3, 3, 3, 0, 0, 0));
}

TEST(PromptClasses, MoreThanACallHasAreSeveral) {
  std::vector<std::int32_t> numbers;
  const std::vector<PromptRows> prompts = {{0, 2, 70}};
  const auto calls = classify_prompts(prompts, 1, 1, numbers);
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0].of, (PromptClass{128, 64}));
  EXPECT_EQ(calls[1].of, (PromptClass{128, 16}));
  EXPECT_EQ(numbers[calls[1].qkv_offsets], 128);
}

}  // namespace
}  // namespace assay

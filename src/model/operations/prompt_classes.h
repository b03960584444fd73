// Prompts of any lengths, in classes: a library's plan is made for the longest length and the
// number of prompts, which takes some tenths of a second, so there are few of them.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "model/operations/prompt_attention.h"

namespace assay {

/// Prompts of at most `length` tokens, `count` at a time.
struct PromptClass {
  std::int64_t length = 0, count = 0;

  auto operator<=>(const PromptClass&) const = default;
};

/// A call of a class's plan. The rest are elements of an array of numbers, where its prompts lie,
/// as in SequencePlaces; each part begins at a multiple of 16 bytes.
struct PromptCall {
  PromptClass of;
  std::size_t lengths = 0, qkv_offsets = 0, y_offsets = 0;
};

/// All classes that passes within the limits can need.
std::vector<PromptClass> prompt_classes(const PromptLimits& limits);
/// The most numbers that a pass can need.
std::size_t most_prompt_numbers(const PromptLimits& limits);

/// A call of a class's plan with the shortest work: one prompt of one token in row 0, the others
/// are not there.
PromptCall least_call(const PromptClass& of, std::int64_t qkv_width, std::int64_t y_width,
                      std::vector<std::int32_t>& numbers);

/// The calls that compute `prompts`, in the order of rows, and their numbers. The widths are those
/// of a row of qkv and of y, in elements.
std::vector<PromptCall> classify_prompts(std::span<const PromptRows> prompts,
                                         std::int64_t qkv_width, std::int64_t y_width,
                                         std::vector<std::int32_t>& numbers);

}  // namespace assay

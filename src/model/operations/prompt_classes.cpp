#include "model/operations/prompt_classes.h"

#include <algorithm>
#include <bit>
#include <map>

namespace assay {
namespace {

/// Shorter ones have a whole tile of the library's kernels anyway.
constexpr std::int64_t shortest_class = 128;
/// More are several calls, so that short prompts need few plans.
constexpr std::int64_t most_of_call = 64;
constexpr std::size_t aligned_numbers = 4;  // 16 bytes

std::int64_t class_length(std::int64_t length) {
  return std::max(shortest_class,
                  static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(length))));
}
/// Prompts that are not there cost little, so that few numbers of them do: 1, 4, 16, 64.
std::int64_t class_count(std::int64_t count) {
  std::int64_t of_class = 1;
  while (of_class < count) of_class *= 4;
  return of_class;
}
/// The shortest prompt of a class.
std::int64_t least_length(std::int64_t of_class) {
  return of_class == shortest_class ? 1 : of_class / 2 + 1;
}

std::size_t aligned(std::size_t numbers) {
  return (numbers + aligned_numbers - 1) / aligned_numbers * aligned_numbers;
}
std::size_t numbers_of_call(std::int64_t count) {
  const auto n = static_cast<std::size_t>(count);
  return aligned(n) + 2 * aligned(n + 1);
}

struct PlacedPrompt {
  std::int64_t begin, length;
};

/// A call for `prompts`, of which the class may have more.
PromptCall place(const PromptClass& of, std::span<const PlacedPrompt> prompts,
                 std::int64_t qkv_width, std::int64_t y_width, std::vector<std::int32_t>& numbers) {
  const auto n = static_cast<std::size_t>(of.count);
  PromptCall call = {of, numbers.size(), 0, 0};
  call.qkv_offsets = call.lengths + aligned(n);
  call.y_offsets = call.qkv_offsets + aligned(n + 1);
  numbers.resize(numbers.size() + numbers_of_call(of.count), 0);
  for (std::size_t i = 0; i <= n; ++i) {
    const bool is_there = i < prompts.size();
    const std::int64_t row =
        is_there ? prompts[i].begin : prompts.back().begin + prompts.back().length;
    if (is_there) numbers[call.lengths + i] = static_cast<std::int32_t>(prompts[i].length);
    numbers[call.qkv_offsets + i] = static_cast<std::int32_t>(row * qkv_width);
    numbers[call.y_offsets + i] = static_cast<std::int32_t>(row * y_width);
  }
  return call;
}

/// How many prompts of a class a pass can have.
std::int64_t most_prompts(const PromptLimits& limits, std::int64_t of_class) {
  return std::min(limits.tokens / least_length(of_class), limits.sequences);
}

/// use(length) for each class of lengths.
template <typename Use>
void for_each_length(const PromptLimits& limits, Use use) {
  const std::int64_t longest = std::min(limits.tokens, limits.length);
  for (std::int64_t length = shortest_class; least_length(length) <= longest; length *= 2) {
    use(length);
  }
}

}  // namespace

std::vector<PromptClass> prompt_classes(const PromptLimits& limits) {
  std::vector<PromptClass> all;
  for_each_length(limits, [&](std::int64_t length) {
    const std::int64_t most = std::min(most_of_call, most_prompts(limits, length));
    for (std::int64_t count = 1;; count *= 4) {
      all.push_back({length, count});
      if (count >= most) break;
    }
  });
  return all;
}

std::size_t most_prompt_numbers(const PromptLimits& limits) {
  std::size_t all = 0;
  for_each_length(limits, [&](std::int64_t length) {
    const std::int64_t most = most_prompts(limits, length);
    const std::int64_t calls = (most + most_of_call - 1) / most_of_call;
    all += static_cast<std::size_t>(calls) *
           numbers_of_call(std::min(most_of_call, class_count(most)));
  });
  return all;
}

PromptCall least_call(const PromptClass& of, std::int64_t qkv_width, std::int64_t y_width,
                      std::vector<std::int32_t>& numbers) {
  const PlacedPrompt one = {0, 1};
  numbers.clear();
  return place(of, {&one, 1}, qkv_width, y_width, numbers);
}

std::vector<PromptCall> classify_prompts(std::span<const PromptRows> prompts,
                                         std::int64_t qkv_width, std::int64_t y_width,
                                         std::vector<std::int32_t>& numbers) {
  std::map<std::int64_t, std::vector<PlacedPrompt>> by_class;
  for (const PromptRows& rows : prompts) {
    for (std::int64_t i = 0; i < rows.count; ++i) {
      by_class[class_length(rows.length)].push_back({rows.begin + i * rows.length, rows.length});
    }
  }
  numbers.clear();
  std::vector<PromptCall> calls;
  for (const auto& [length, all] : by_class) {
    for (std::size_t first = 0; first < all.size(); first += most_of_call) {
      const auto some =
          std::span(all).subspan(first, std::min<std::size_t>(most_of_call, all.size() - first));
      calls.push_back(
          place({length, class_count(std::ssize(some))}, some, qkv_width, y_width, numbers));
    }
  }
  return calls;
}

}  // namespace assay

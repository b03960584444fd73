#include "advise/selftest/contracts/prompt_reference.h"

#include <fmt/format.h>

#include <cmath>

#include "advise/selftest/expect.h"
#include "compute/stored_elements.h"
#include "core/random.h"

namespace assay::selftest {
namespace {

constexpr std::uint16_t no_number = 0x7FFF;

}  // namespace

PromptAttentionReference::PromptAttentionReference(const PromptHeads& heads, std::int64_t rows)
    : heads_(heads), rows_(rows) {
  Random random(3);
  qkv_.resize(
      static_cast<std::size_t>(rows * (heads.heads + 2 * heads.kv_heads) * heads.head_width));
  for (std::uint16_t& code : qkv_) store_element(heads.type, &code, random.normal());
}

std::vector<std::uint16_t> PromptAttentionReference::unwritten_y() const {
  return std::vector<std::uint16_t>(static_cast<std::size_t>(rows_ * y_width()), no_number);
}

Status PromptAttentionReference::check(const std::vector<std::uint16_t>& y,
                                       const std::vector<PromptRows>& prompts) const {
  const std::vector<double> right = results(prompts);
  const double tolerance = heads_.type == DataType::f16 ? 1e-3 : 8e-3;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const std::size_t row = i / static_cast<std::size_t>(y_width());
    if (std::isnan(right[i])) {
      TRY(expect(y[i] == no_number, fmt::format("row {} is of no prompt and was written", row)));
    } else if (!(std::abs(number_of(y[i]) - right[i]) <= tolerance * (1 + std::abs(right[i])))) {
      return wrong(fmt::format("row {} has {}, expected {} +- {}", row, number_of(y[i]), right[i],
                               tolerance * (1 + std::abs(right[i]))));
    }
  }
  return {};
}

float PromptAttentionReference::number_of(std::uint16_t code) const {
  return heads_.type == DataType::f16 ? F16{code}.decode() : Bf16{code}.decode();
}

/// Returns element i of a head of a row: query heads, then key heads, then value heads.
double PromptAttentionReference::element(std::int64_t row, std::int64_t head,
                                         std::int64_t i) const {
  const std::int64_t all = heads_.heads + 2 * heads_.kv_heads;
  return number_of(qkv_[static_cast<std::size_t>((row * all + head) * heads_.head_width + i)]);
}

/// Rows that belong to no prompt are NaN.
std::vector<double> PromptAttentionReference::results(
    const std::vector<PromptRows>& prompts) const {
  std::vector<double> y(static_cast<std::size_t>(rows_ * y_width()), std::nan(""));
  for (const PromptRows& of : prompts) {
    for (std::int64_t row = of.begin; row < of.end(); ++row) {
      const std::int64_t first = of.begin + (row - of.begin) / of.length * of.length;
      for (std::int64_t head = 0; head < heads_.heads; ++head) attend(y, first, row, head);
    }
  }
  return y;
}

void PromptAttentionReference::attend(std::vector<double>& y, std::int64_t first, std::int64_t row,
                                      std::int64_t head) const {
  const std::int64_t width = heads_.head_width, group = heads_.heads / heads_.kv_heads;
  const std::int64_t key = heads_.heads + head / group, value = key + heads_.kv_heads;
  double sum = 0;
  std::vector<double> sums(static_cast<std::size_t>(width), 0.0);
  for (std::int64_t s = first; s <= row; ++s) {
    double score = 0;
    for (std::int64_t i = 0; i < width; ++i) score += element(row, head, i) * element(s, key, i);
    const double weight = std::exp(score / std::sqrt(static_cast<double>(width)));
    sum += weight;
    for (std::int64_t i = 0; i < width; ++i) {
      sums[static_cast<std::size_t>(i)] += weight * element(s, value, i);
    }
  }
  for (std::int64_t i = 0; i < width; ++i) {
    y[static_cast<std::size_t>(row * y_width() + head * width + i)] =
        sums[static_cast<std::size_t>(i)] / sum;
  }
}

}  // namespace assay::selftest

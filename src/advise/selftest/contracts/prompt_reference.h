// Attention of prompts by its definition, in double precision, with operands for comparisons.
#pragma once

#include <cstdint>
#include <vector>

#include "core/result.h"
#include "model/operations/prompt_attention.h"

namespace assay::selftest {

class PromptReference {
 public:
  /// Makes operands for heads of bf16 or f16.
  PromptReference(const PromptHeads& heads, std::int64_t rows);

  const std::vector<std::uint16_t>& qkv() const { return qkv_; }
  /// Returns as many elements as a result has, all NaN in both types.
  std::vector<std::uint16_t> untouched() const;
  /// Expects correct y in the rows of prompts, and untouched() elsewhere.
  Status check(const std::vector<std::uint16_t>& y, const std::vector<PromptRows>& prompts) const;

 private:
  std::int64_t y_width() const { return heads_.heads * heads_.head_width; }
  float number_of(std::uint16_t code) const;
  double element(std::int64_t row, std::int64_t head, std::int64_t i) const;
  std::vector<double> results(const std::vector<PromptRows>& prompts) const;
  void attend(std::vector<double>& y, std::int64_t first, std::int64_t row,
              std::int64_t head) const;

  const PromptHeads heads_;
  const std::int64_t rows_;
  std::vector<std::uint16_t> qkv_;
};

}  // namespace assay::selftest

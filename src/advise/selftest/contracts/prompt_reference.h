// Attention of prompts by its definition, in double precision, with operands for comparisons.
#pragma once

#include <cstdint>
#include <vector>

#include "core/result.h"
#include "model/operations/prompt_attention.h"

namespace assay::selftest {

/// Causal grouped-query attention within each prompt, softmax(q k / sqrt(head_width)) v, in double
/// precision, and random operands for it.
class PromptAttentionReference {
 public:
  /// Makes normally distributed operands from a fixed seed. `heads.type` is bf16 or f16; `rows` is
  /// the number of tokens of the pass.
  PromptAttentionReference(const PromptHeads& heads, std::int64_t rows);

  /// Returns the operands, [rows, heads + 2 kv_heads, head_width], as bits of heads.type: queries,
  /// keys, values.
  const std::vector<std::uint16_t>& qkv() const { return qkv_; }
  /// Returns what y must hold before the pass: [rows, heads, head_width] elements whose bits are
  /// NaN in bf16 and in f16.
  std::vector<std::uint16_t> unwritten_y() const;
  /// Checks y, of the size of unwritten_y(): rows of prompts within 1e-3 (f16) or 8e-3 (bf16) times
  /// 1 + |expected|, other rows unchanged. Error: verification, naming the row.
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

// Documents packed into rows of one length, as fine-tuning reads them.
#pragma once

#include <cstdint>
#include <vector>

namespace assay {

/// A position without a loss, as in PyTorch's cross_entropy.
inline constexpr std::int32_t ignored_target = -100;

/// Rows of `length` tokens, one after the other. A row holds whole documents one after the other,
/// and padding after the last one.
struct PackedRows {
  std::int64_t rows = 0, length = 0;
  std::vector<std::int32_t> tokens;   ///< [rows, length]; 0 in padding
  std::vector<std::int32_t> targets;  ///< [rows, length]: the token to predict, or ignored_target
  /// [rows, length]: where in its row the document of a token begins. A token's position in its
  /// document is its place in the row minus this, and it attends to no earlier token. Each padding
  /// token is a document of its own.
  std::vector<std::int32_t> document_starts;
};

}  // namespace assay

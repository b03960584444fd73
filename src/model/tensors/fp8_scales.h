// Matrices of FP8 in published checkpoints: codes of e4m3, and a tensor of factors beside them: one
// for all, one for each row (an output), or one for each block of 128 x 128.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/input_file.h"
#include "core/result.h"
#include "model/tensors/safetensors.h"

namespace assay {

/// What of a quantized checkpoint a tensor is, by its name.
enum class Fp8Part {
  none,     ///< not one of these
  factors,  ///< NAME.weight_scale or NAME.weight_scale_inv: of the matrix NAME.weight
  unused,   ///< factors of activations, keys or values: assay finds its own
};
Fp8Part fp8_part(std::string_view name);
/// Returns "a.q_proj.weight" for "a.q_proj.weight_scale" and "a.q_proj.weight_scale_inv".
std::string matrix_of_factors(std::string_view name);

class Fp8Scales {
 public:
  /// Reads the factors of a matrix [rows, columns]. Error: usage, not naming the tensor: its shape
  /// fits no layout, or a factor is negative, subnormal or too large.
  static Result<Fp8Scales> read(const InputFile& file, const StoredTensor& factors,
                                std::int64_t rows, std::int64_t columns);

  /// Writes the numbers of `codes`, whole rows from row `first` on.
  void apply(std::int64_t first, std::span<const std::byte> codes, float* numbers) const;

 private:
  std::int64_t columns_ = 0;                         // of the matrix
  std::int64_t block_rows_ = 0, block_columns_ = 0;  // that a factor is for
  std::int64_t across_ = 0;                          // factors of a row of blocks
  std::vector<float> factors_;
};

}  // namespace assay

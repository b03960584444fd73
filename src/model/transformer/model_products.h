// The matrix products of one step of a model, as the engine asks libraries for them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compute/vendor/blas/gemm_problem.h"
#include "core/result.h"
#include "model/transformer/decoder_shape.h"
#include "model/transformer/gpt_shape.h"

namespace assay {

struct ModelProduct {
  std::string name;  ///< "qkv", "fc_weight"
  GemmProblem problem;
  std::uint64_t count = 0;  ///< in one step
};

/// Forward and backward of `tokens` tokens, without attention; the GELU by the library's epilogue.
std::vector<ModelProduct> products_of(const GptShape& shape, std::int64_t tokens,
                                      DataType precision);
/// A pass over `tokens` tokens, each of which gets logits.
std::vector<ModelProduct> products_of(const DecoderShape& shape, std::int64_t tokens,
                                      DataType precision);

/// Of a model by its name or numbers, as `train` ("7B", "6L6H384C") and `prefill` and `decode`
/// ("llama3-70b", "2L4H2K64D256C") take it. Error: usage, naming what is allowed.
Result<std::vector<ModelProduct>> products_of_model(std::string_view model, std::int64_t tokens,
                                                    DataType precision);

}  // namespace assay

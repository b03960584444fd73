// The GEMMs of one step of a model, as the engine asks libraries for them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compute/vendor/blas/gemm_problem.h"
#include "core/result.h"
#include "model/transformer/transformer_shape.h"

namespace assay {

struct ModelProduct {
  std::string name;  ///< "qkv", "fc_weight"
  GemmProblem problem;
  std::uint64_t count = 0;  ///< in one step
};

/// Forward and backward of `tokens` tokens, without attention; the library's epilogues compute the
/// GELU.
std::vector<ModelProduct> training_products(const TransformerShape& shape, std::int64_t tokens,
                                            DataType precision);
/// A decoder's pass over `tokens` tokens, each of which gets logits.
std::vector<ModelProduct> inference_products(const TransformerShape& shape, std::int64_t tokens,
                                             DataType precision);

/// The products of a model by its name or numbers: of training for GPTs ("7B", "6L6H384C"), of
/// inference for decoders ("llama3-70b", "2L4H2K64D256C"). Error: usage, naming what is allowed.
Result<std::vector<ModelProduct>> products_of_model(std::string_view model, std::int64_t tokens,
                                                    DataType precision);

}  // namespace assay

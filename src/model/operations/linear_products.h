// The GEMMs of a linear layer, as the engine asks libraries for them. Tuning in advance must ask
// for the same problems.
#pragma once

#include <cstdint>

#include "compute/vendor/blas/gemm_problem.h"

namespace assay {

/// x[rows, inputs], W[outputs, inputs], y[rows, outputs].
struct LinearShape {
  std::int64_t rows = 0, outputs = 0, inputs = 0;
};

/// y = epilogue(x W^T), added to what is there if `add`.
inline GemmProblem forward_product(LinearShape shape, DataType precision,
                                   Epilogue epilogue = Epilogue::none, bool add = false) {
  GemmProblem product =
      make_gemm(shape.rows, shape.outputs, shape.inputs, precision, precision, false, true);
  product.epilogue = epilogue;
  product.beta = add ? 1 : 0;
  return product;
}

/// dx = epilogue(dy W), added to what is there if `add`.
inline GemmProblem input_gradient_product(LinearShape shape, DataType precision,
                                          Epilogue epilogue = Epilogue::none, bool add = false) {
  GemmProblem product = make_gemm(shape.rows, shape.inputs, shape.outputs, precision, precision);
  product.epilogue = epilogue;
  product.beta = add ? 1 : 0;
  return product;
}

/// dW = dy^T x, added to what is there if `add`.
inline GemmProblem weight_gradient_product(LinearShape shape, DataType precision, bool add) {
  GemmProblem product =
      make_gemm(shape.outputs, shape.inputs, shape.rows, precision, precision, true, false);
  product.beta = add ? 1 : 0;
  return product;
}

/// The epilogue of y = gelu(x W^T + b), which keeps the input of the GELU.
inline Epilogue gelu_epilogue(bool with_bias) {
  return with_bias ? Epilogue::gelu_aux_bias : Epilogue::gelu_aux;
}

}  // namespace assay

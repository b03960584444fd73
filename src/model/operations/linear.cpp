#include "model/operations/linear.h"

namespace assay {

Result<Linear> Linear::create(Device& device, GemmPlans& plans, DataType precision) {
  Linear made(device.facts(), plans, precision, TRY(Kernels::build(device, "gelu", precision)));
  made.add_bias_ = TRY(made.kernels_.of_type("add_bias"));
  return made;
}

GemmProblem Linear::problem(std::int64_t m, std::int64_t n, std::int64_t k, bool transpose_a,
                            bool transpose_b) const {
  return make_gemm(m, n, k, precision_, precision_, transpose_a, transpose_b);
}

Status Linear::forward(Stream& stream, void* y, const void* x, const void* weight, const void* bias,
                       LinearShape shape) {
  GemmProblem product = problem(shape.rows, shape.outputs, shape.inputs, false, true);
  GemmOperands operands = {.a = x, .b = weight, .c = y, .d = y};
  if (bias == nullptr) return plans_->enqueue(stream, product, operands);
  GemmProblem with_bias = product;
  with_bias.epilogue = Epilogue::bias;
  with_bias.bias = product.d;
  if (plans_->supports(with_bias)) {
    operands.bias = const_cast<void*>(bias);  // only read by this epilogue
    return plans_->enqueue(stream, with_bias, operands);
  }
  TRY(plans_->enqueue(stream, product, operands));
  return launch(stream, *add_bias_, shape_of_elements(*facts_, shape.rows * shape.outputs), y, bias,
                std::uint64_t(shape.rows), std::uint64_t(shape.outputs));
}

Status Linear::input_gradient(Stream& stream, void* dx, const void* dy, const void* weight,
                              LinearShape shape) {
  return plans_->enqueue(stream, problem(shape.rows, shape.inputs, shape.outputs, false, false),
                         {.a = dy, .b = weight, .c = dx, .d = dx});
}

Status Linear::weight_gradient(Stream& stream, void* dw, const void* dy, const void* x,
                               LinearShape shape, bool add) {
  GemmProblem product = problem(shape.outputs, shape.inputs, shape.rows, true, false);
  product.beta = add ? 1 : 0;
  return plans_->enqueue(stream, product, {.a = dy, .b = x, .c = dw, .d = dw});
}

}  // namespace assay

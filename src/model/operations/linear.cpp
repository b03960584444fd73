#include "model/operations/linear.h"

namespace assay {

GemmProblem Linear::problem(std::int64_t m, std::int64_t n, std::int64_t k, bool transpose_a,
                            bool transpose_b) const {
  return make_gemm(m, n, k, precision_, precision_, transpose_a, transpose_b);
}

Result<bool> Linear::forward_with(Epilogue epilogue, Stream& stream, void* y, const void* x,
                                  const void* weight, const void* bias, LinearShape shape) {
  GemmProblem product = problem(shape.rows, shape.outputs, shape.inputs, false, true);
  product.epilogue = epilogue;
  product.bias = product.d;
  if (!plans_->supports(product)) return false;
  TRY(plans_->enqueue(stream, product,
                      {.a = x,
                       .b = weight,
                       .c = y,
                       .d = y,
                       .bias = const_cast<void*>(bias)}));  // only read by these epilogues
  return true;
}

Status Linear::forward(Stream& stream, void* y, const void* x, const void* weight, const void* bias,
                       LinearShape shape) {
  if (bias != nullptr && TRY(forward_with(Epilogue::bias, stream, y, x, weight, bias, shape))) {
    return {};
  }
  TRY(plans_->enqueue(stream, problem(shape.rows, shape.outputs, shape.inputs, false, true),
                      {.a = x, .b = weight, .c = y, .d = y}));
  if (bias == nullptr) return {};
  return activations_->add_bias(stream, y, bias, shape.rows, shape.outputs);
}

Status Linear::forward_relu(Stream& stream, void* y, const void* x, const void* weight,
                            const void* bias, LinearShape shape) {
  const Epilogue epilogue = bias != nullptr ? Epilogue::relu_bias : Epilogue::relu;
  if (TRY(forward_with(epilogue, stream, y, x, weight, bias, shape))) return {};
  TRY(forward(stream, y, x, weight, bias, shape));
  return activations_->relu(stream, y, shape.rows * shape.outputs);
}

Status Linear::input_gradient(Stream& stream, void* dx, const void* dy, const void* weight,
                              LinearShape shape) {
  return plans_->enqueue(stream, problem(shape.rows, shape.inputs, shape.outputs, false, false),
                         {.a = dy, .b = weight, .c = dx, .d = dx});
}

GemmProblem Linear::forward_with_gelu(LinearShape shape, bool with_bias) const {
  GemmProblem product = problem(shape.rows, shape.outputs, shape.inputs, false, true);
  product.epilogue = with_bias ? Epilogue::gelu_aux_bias : Epilogue::gelu_aux;
  return product;
}

GemmProblem Linear::input_gradient_with_gelu(LinearShape shape) const {
  GemmProblem product = problem(shape.rows, shape.inputs, shape.outputs, false, false);
  product.epilogue = Epilogue::dgelu;
  return product;
}

bool Linear::can_fuse(LinearShape forward, bool with_bias, LinearShape backward) {
  return plans_->supports(forward_with_gelu(forward, with_bias)) &&
         plans_->supports(input_gradient_with_gelu(backward));
}

Status Linear::enqueue(Stream& stream, const GemmProblem& problem, const Contender& fused,
                       const Contender& separate) {
  const bool better = fuse_ ? *fuse_ && plans_->supports(problem)
                            : TRY(plans_->better_fused(problem, fused, separate));
  return better ? fused(stream) : separate(stream);
}

Status Linear::forward_gelu(Stream& stream, void* y, void* before, const void* x,
                            const void* weight, const void* bias, LinearShape shape) {
  const GemmProblem product = forward_with_gelu(shape, bias != nullptr);
  const GemmOperands operands = {.a = x,
                                 .b = weight,
                                 .c = y,
                                 .d = y,
                                 .bias = const_cast<void*>(bias),  // only read by this epilogue
                                 .aux = before};
  return enqueue(
      stream, product, [&](Stream& on) { return plans_->enqueue(on, product, operands); },
      [&](Stream& on) -> Status {
        TRY(forward(on, before, x, weight, bias, shape));
        return activations_->gelu(on, y, before, shape.rows * shape.outputs);
      });
}

Status Linear::input_gradient_gelu(Stream& stream, void* dx, const void* dy, const void* weight,
                                   const void* before, LinearShape shape) {
  const GemmProblem product = input_gradient_with_gelu(shape);
  const GemmOperands operands = {.a = dy,
                                 .b = weight,
                                 .c = dx,
                                 .d = dx,
                                 .aux = const_cast<void*>(before)};  // only read by this epilogue
  return enqueue(
      stream, product, [&](Stream& on) { return plans_->enqueue(on, product, operands); },
      [&](Stream& on) -> Status {
        TRY(input_gradient(on, dx, dy, weight, shape));
        return activations_->gelu_backward(on, dx, before, shape.rows * shape.inputs);
      });
}

Status Linear::input_gradient_relu(Stream& stream, void* dx, const void* dy, const void* weight,
                                   const void* y, LinearShape shape) {
  TRY(input_gradient(stream, dx, dy, weight, shape));
  return activations_->relu_backward(stream, dx, y, shape.rows * shape.inputs);
}

Status Linear::weight_gradient(Stream& stream, void* dw, const void* dy, const void* x,
                               LinearShape shape, bool add) {
  GemmProblem product = problem(shape.outputs, shape.inputs, shape.rows, true, false);
  product.beta = add ? 1 : 0;
  return plans_->enqueue(stream, product, {.a = dy, .b = x, .c = dw, .d = dw});
}

}  // namespace assay

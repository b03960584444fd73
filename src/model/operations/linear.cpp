#include "model/operations/linear.h"

namespace assay {

Result<bool> Linear::forward_with(Epilogue epilogue, Stream& stream, void* y, const void* x,
                                  const void* weight, const void* bias, LinearShape shape) {
  const GemmProblem product = forward_product(shape, precision_, epilogue);
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
                       LinearShape shape, bool add) {
  if (bias != nullptr && TRY(forward_with(Epilogue::bias, stream, y, x, weight, bias, shape))) {
    return {};
  }
  TRY(plans_->enqueue(stream, forward_product(shape, precision_, Epilogue::none, add),
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
                              LinearShape shape, bool add) {
  return plans_->enqueue(stream, input_gradient_product(shape, precision_, Epilogue::none, add),
                         {.a = dy, .b = weight, .c = dx, .d = dx});
}

bool Linear::can_fuse(LinearShape forward, bool with_bias, LinearShape backward) {
  return plans_->supports(forward_product(forward, precision_, gelu_epilogue(with_bias))) &&
         plans_->supports(input_gradient_product(backward, precision_, Epilogue::dgelu));
}

Status Linear::enqueue(Stream& stream, const GemmProblem& problem, const Contender& fused,
                       const Contender& separate) {
  const bool better = fuse_ ? *fuse_ && plans_->supports(problem)
                            : TRY(plans_->better_fused(problem, fused, separate));
  return better ? fused(stream) : separate(stream);
}

Status Linear::forward_gelu(Stream& stream, void* y, void* before, const void* x,
                            const void* weight, const void* bias, LinearShape shape) {
  const GemmProblem product = forward_product(shape, precision_, gelu_epilogue(bias != nullptr));
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
  const GemmProblem product = input_gradient_product(shape, precision_, Epilogue::dgelu);
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
  const GemmProblem product = weight_gradient_product(shape, precision_, add);
  return plans_->enqueue(stream, product, {.a = dy, .b = x, .c = dw, .d = dw});
}

}  // namespace assay

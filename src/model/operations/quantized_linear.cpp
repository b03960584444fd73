#include "model/operations/quantized_linear.h"

#include "model/operations/fp8_linear.h"

namespace assay {

Result<QuantizedLinear> QuantizedLinear::create(Device& device, GemmPlans& plans,
                                                Activations& functions, DataType codes) {
  TRY(check_fp8_products(device.facts(), plans, codes));
  return QuantizedLinear(device, plans, functions, codes,
                         TRY(QuantizedRows::create(device, DataType::bf16, codes)));
}

Status QuantizedLinear::forward(Stream& stream, void* y, StoredMatrix x, StoredMatrix weight,
                                const void* bias, LinearShape shape) {
  GemmProblem product = fp8_product(*facts_, codes_, shape.rows, shape.outputs, shape.inputs);
  product.scales_a = product.scales_b = product.scales_lines = true;
  if (!plans_->supports(product)) return forward_in_steps(stream, y, x, weight, bias, shape);
  TRY(plans_->enqueue(stream, product,
                      {.a = x.elements,
                       .b = weight.elements,
                       .c = y,
                       .d = y,
                       .scale_a = x.factors,
                       .scale_b = weight.factors}));
  if (bias == nullptr) return {};
  return functions_->add_bias(stream, y, bias, shape.rows, shape.outputs);
}

Status QuantizedLinear::forward_in_steps(Stream& stream, void* y, StoredMatrix x,
                                         StoredMatrix weight, const void* bias, LinearShape shape) {
  TRY(plans_->enqueue(stream, fp8_product(*facts_, codes_, shape.rows, shape.outputs, shape.inputs),
                      {.a = x.elements, .b = weight.elements, .c = y, .d = y}));
  return rows_.scale_product(stream, y, x.factors, weight.factors, bias, shape.rows, shape.outputs);
}

}  // namespace assay

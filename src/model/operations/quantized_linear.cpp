#include "model/operations/quantized_linear.h"

#include "compute/device/helpers.h"
#include "model/operations/fp8_linear.h"

namespace assay {
namespace {

GemmProblem product_with_factors(const DeviceFacts& facts, DataType codes, LinearShape shape) {
  GemmProblem product = fp8_product(facts, codes, shape.rows, shape.outputs, shape.inputs);
  product.scales_a = product.scales_b = product.scales_lines = true;
  return product;
}

}  // namespace

Result<QuantizedLinear> QuantizedLinear::create(Device& device, GemmPlans& plans,
                                                Activations& functions, DataType codes) {
  const DeviceFacts& facts = device.facts();
  TRY(check_fp8_products(facts, plans, codes));
  // Assay's own product, the reference on CPUs, has factors; on a GPU it would be far slower.
  const bool in_steps = suits_large_work(facts) && !plans.library_supports(product_with_factors(
                                                       facts, codes, {256, 256, 256}));
  return QuantizedLinear(device, plans, functions, codes,
                         TRY(QuantizedRows::create(device, DataType::bf16, codes)), in_steps);
}

Status QuantizedLinear::forward(Stream& stream, void* y, StoredMatrix x, StoredMatrix weight,
                                const void* bias, LinearShape shape) {
  if (in_steps_) return forward_in_steps(stream, y, x, weight, bias, shape);
  TRY(plans_->enqueue(stream, product_with_factors(*facts_, codes_, shape),
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

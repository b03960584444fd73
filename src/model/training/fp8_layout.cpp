#include "model/training/fp8_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "model/operations/fp8_linear.h"

namespace assay {
namespace {

struct MatrixOfBlock {
  const char* name;
  Fp8Operands Fp8Layer::*copies;
  std::int64_t outputs, inputs;
};

std::array<MatrixOfBlock, 4> matrices_of_block(const TransformerShape& shape) {
  return {{{"qkv", &Fp8Layer::qkv, shape.qkv_width(), shape.width},
           {"proj", &Fp8Layer::proj, shape.width, shape.query_width()},
           {"up", &Fp8Layer::up, shape.up_width(), shape.width},
           {"down", &Fp8Layer::down, shape.width, shape.hidden}}};
}

}  // namespace

Fp8Layout Fp8Layout::of(const TransformerPlan& plan) {
  Fp8Layout made;
  made.layers.resize(static_cast<std::size_t>(plan.shape.layers));
  if (!plan.fp8) return made;
  const auto matrices = matrices_of_block(plan.shape);
  const std::int64_t n = plan.tokens();
  const bool frozen = plan.lora.has_value();
  TensorPlaces place;
  for (Fp8Layer& layer : made.layers) {
    for (const MatrixOfBlock& m : matrices) {
      Fp8Operands& copies = layer.*m.copies;
      copies.weight_scale = made.weight_scales++;
      if (takes_turns(plan) && &layer != &made.layers.front()) {
        copies.weight = (made.layers.front().*m.copies).weight;
        copies.weight_columns = (made.layers.front().*m.copies).weight_columns;
        continue;
      }
      copies.weight = place.next(m.outputs, m.inputs);
      copies.weight_columns = place.next(m.inputs, m.outputs);
    }
  }
  made.weight_codes = place.used();
  made.scales = made.weight_scales;
  std::int64_t most_inputs = 0, most_outputs = 0;
  for (Fp8Layer& layer : made.layers) {
    const Fp8Layer& first = made.layers.front();
    for (const MatrixOfBlock& m : matrices) {
      Fp8Operands& copies = layer.*m.copies;
      copies.input_scale = made.scales++;
      copies.gradient_scale = made.scales++;
      most_inputs = std::max(most_inputs, m.inputs);
      most_outputs = std::max(most_outputs, m.outputs);
      if (frozen) continue;
      const bool computed_again =
          plan.recompute == Recompute::layer ||
          (recomputes_activation(plan.recompute) && m.copies == &Fp8Layer::down);
      copies.input_columns = computed_again && &layer != &first ? (first.*m.copies).input_columns
                                                                : place.next(m.inputs, n);
    }
  }
  made.input = place.next(n, most_inputs);
  made.gradient = place.next(n, most_outputs);
  if (!frozen) made.gradient_columns = place.next(most_outputs, n);
  made.codes = place.used();
  return made;
}

Status validate_fp8(const TransformerPlan& plan) {
  if (!plan.fp8) return {};
  if (plan.type != DataType::bf16) {
    return Error{ErrorKind::usage,
                 fmt::format("products=fp8 has results of bf16, not {}; allowed: precision=bf16",
                             name_of(plan.type))};
  }
  const auto check = [](const char* what, std::int64_t size) -> Status {
    if (size % fp8_multiple == 0) return {};
    return Error{ErrorKind::usage,
                 fmt::format("products=fp8 takes multiples of {}, and {} is {}; choose another, or "
                             "products=bf16",
                             fp8_multiple, what, size)};
  };
  TRY(check("batch x sequence", plan.tokens()));
  for (const MatrixOfBlock& m : matrices_of_block(plan.shape)) {
    const std::string side = fmt::format("a side of the matrix {}", m.name);
    TRY(check(side.c_str(), m.outputs));
    TRY(check(side.c_str(), m.inputs));
  }
  return {};
}

}  // namespace assay

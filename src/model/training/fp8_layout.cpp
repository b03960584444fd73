#include "model/training/fp8_layout.h"

#include <fmt/format.h>

#include <string>

#include "model/operations/fp8_linear.h"

namespace assay {
namespace {

/// What computes an input again says where its columns come from.
InputColumns columns_of(const Fp8Operands Fp8Layer::*copies, Recompute recompute) {
  if (copies == &Fp8Layer::down && recompute >= Recompute::activation) return InputColumns::alone;
  if (copies == &Fp8Layer::proj && recompute >= Recompute::selective) return InputColumns::alone;
  const bool again =
      copies == &Fp8Layer::up ? recompute >= Recompute::perceptron : recompute >= Recompute::layer;
  return again ? InputColumns::by_product : InputColumns::kept;
}

}  // namespace

std::array<MatrixOfBlock, 4> matrices_of_block(const TransformerShape& shape) {
  return {{{"qkv", &Fp8Layer::qkv, shape.qkv_width(), shape.width},
           {"proj", &Fp8Layer::proj, shape.width, shape.query_width()},
           {"up", &Fp8Layer::up, shape.up_width(), shape.width},
           {"down", &Fp8Layer::down, shape.width, shape.hidden}}};
}

Fp8Layout Fp8Layout::of(const TransformerPlan& plan) {
  Fp8Layout made;
  made.layers.resize(static_cast<std::size_t>(plan.shape.layers));
  if (!plan.fp8) return made;
  const auto matrices = matrices_of_block(plan.shape);
  TensorPlaces place;
  for (Fp8Layer& layer : made.layers) {
    for (const MatrixOfBlock& m : matrices) {
      Fp8Operands& copies = layer.*m.copies;
      copies.weight_scale = made.weight_scales++;
      copies.columns = columns_of(m.copies, plan.recompute);
      if (takes_turns(plan)) continue;
      copies.weight = place.next(m.outputs, m.inputs);
      copies.weight_columns = place.next(m.inputs, m.outputs);
    }
  }
  made.weight_codes = place.used();
  made.scales = made.weight_scales;
  for (Fp8Layer& layer : made.layers) {
    for (const MatrixOfBlock& m : matrices) {
      (layer.*m.copies).input_scale = made.scales++;
      (layer.*m.copies).gradient_scale = made.scales++;
    }
  }
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

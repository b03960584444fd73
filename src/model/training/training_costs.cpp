#include "model/training/training_costs.h"

#include <array>
#include <string>
#include <string_view>

#include "model/training/fp8_layout.h"

namespace assay {
namespace {

/// Returns whether the backward pass computes a product again, the number `index` of a block.
bool is_again(Recompute recompute, std::size_t index) {
  constexpr std::size_t up = 2, down = 3;
  return recompute == Recompute::layer ? index != down
                                       : recompute == Recompute::perceptron && index == up;
}

/// What is quantized is read once at the least, as bf16, and written as one byte for each layout
/// that products read.
void add_quantization(std::vector<OperationCost>& costs, const TransformerPlan& plan,
                      std::int64_t accumulate) {
  const auto n = static_cast<double>(plan.tokens()), l = static_cast<double>(plan.shape.layers);
  const double read = static_cast<double>(size_of(plan.type));
  const bool turns = Fp8Layout::takes_turns(plan);
  const Fp8Layout layout = Fp8Layout::of(plan);
  double forward = 0, backward = 0, weights = 0, weights_backward = 0;
  const auto matrices = matrices_of_block(plan.shape);
  for (std::size_t i = 0; i < matrices.size(); ++i) {
    const MatrixOfBlock& m = matrices[i];
    const InputColumns columns = (layout.layers.front().*m.copies).columns;
    const double inputs = n * static_cast<double>(m.inputs), again = is_again(plan.recompute, i);
    const auto weight = static_cast<double>(m.outputs * m.inputs);
    const bool keeps = !plan.lora && columns == InputColumns::kept;
    forward += inputs * (read + (keeps ? 2 : 1));
    backward += n * static_cast<double>(m.outputs) * (read + (plan.lora ? 1 : 2));
    backward += again * inputs * (read + 1);
    if (!plan.lora && columns == InputColumns::by_product) backward += inputs;
    if (!plan.lora && columns == InputColumns::alone) backward += inputs * (read + 1);
    weights += weight * (read + (turns ? 1 : 2));
    weights_backward += weight * (1 + again) * (read + 1);
  }
  costs.push_back({Phase::forward, "quantize", 0, l * forward});
  costs.push_back({Phase::backward, "quantize", 0, l * backward});
  if (turns) {
    costs.push_back({Phase::forward, "quantize_weights", 0, l * weights});
    costs.push_back({Phase::backward, "quantize_weights", 0, l * weights_backward});
  } else if (!plan.lora) {  // in the first pass of each step
    costs.push_back(
        {Phase::forward, "quantize_weights", 0, l * weights / static_cast<double>(accumulate)});
  }
}

}  // namespace

std::vector<OperationCost> costs_of(const TransformerPlan& plan, std::int64_t accumulate,
                                    std::optional<double> keys) {
  const TransformerShape& shape = plan.shape;
  const auto n = static_cast<double>(plan.tokens()), c = static_cast<double>(shape.width),
             f = static_cast<double>(shape.hidden),
             t = 2 * keys.value_or(static_cast<double>(plan.sequence) / 2),
             l = static_cast<double>(shape.layers),
             v = static_cast<double>(shape.padded_vocabulary()),
             q = static_cast<double>(shape.query_width()),
             qkv = static_cast<double>(shape.qkv_width());
  const auto element = static_cast<double>(size_of(plan.type));
  const bool gated = shape.activation == ActivationKind::swiglu;
  const bool learned = shape.position == PositionKind::learned, rotates = shape.changes_heads();
  std::vector<OperationCost> costs;
  const auto add = [&](Phase phase, const std::string& name, double flops, double elements) {
    costs.push_back({phase, name, flops, elements * element});
  };
  struct Product : ProductCost {
    std::string name;
    double count;
    bool fp8;
    /// Whether the product, and its gradient for the input, add to what adapters wrote.
    bool adds_result = false, adds_gradient = false;
  };
  std::vector<Product> products;
  for (const ShapeMatrix& m : shape.matrices()) {
    const std::string name = m.name;
    const double outputs = name == "head" ? v : static_cast<double>(m.outputs);
    products.push_back({{n, outputs, static_cast<double>(m.inputs)},
                        name,
                        static_cast<double>(m.count),
                        plan.fp8 && name != "head"});
  }
  const LoraParameters lora = plan.adapters();
  const LoraLayer& of_block = lora.layers.front();
  const std::array groups = {&of_block.qkv, &of_block.proj, &of_block.up, &of_block.down};
  for (std::size_t i = 0; plan.lora && i < groups.size(); ++i) {
    products[i].adds_gradient = !groups[i]->parts.empty();
    products[i].adds_result = groups[i]->fills_result() && !(i == 0 && shape.has_qkv_bias());
  }
  const auto &of_qkv = products[0], &proj = products[1], &up = products[2], &down = products[3],
             &head = products[4];
  // y = x W^T and each of the gradients read two of x, W and y, and write the third.
  const auto add_named = [&](Phase phase, const std::string& name, const Product& product,
                             double written, double more = 0) {
    const double read = (product.elements() - written) * (product.fp8 ? 1 : element);
    costs.push_back({phase, name, product.count * product.flops(),
                     product.count * (read + (written + more) * element), product.fp8});
  };
  const auto add_product = [&](Phase phase, const Product& product, double more = 0) {
    const double results = product.rows * product.outputs;
    add_named(phase, product.name, product, results, more + (product.adds_result ? results : 0));
  };
  const auto add_gradients = [&](const Product& product) {
    for (const char* of : {"_weight", "_input"}) {
      const bool of_weight = of == std::string_view("_weight");
      if (plan.lora && of_weight) continue;  // frozen
      const double written = product.inputs * (of_weight ? product.outputs : product.rows);
      add_named(Phase::backward, product.name + of, product, written,
                product.adds_gradient ? written : 0);
    }
  };
  add(Phase::forward, "embedding", 0, (learned ? 3 : 2) * n * c);
  add(Phase::forward, "norm", 0, (2 * l + 1) * 4 * n * c);
  add_product(Phase::forward, of_qkv);
  if (rotates) add(Phase::forward, "rotation", 0, l * 2 * n * qkv);
  add(Phase::forward, "attention", l * 2 * n * t * q, l * n * (qkv + q));
  add_product(Phase::forward, proj);
  add_product(Phase::forward, up, gated ? 0 : n * f);  // a GELU's epilogue also writes its input
  if (gated) add(Phase::forward, "swiglu", 0, l * 3 * n * f);
  add_product(Phase::forward, down);
  // Logits that are cut into parts are computed where their gradients are used.
  const Phase of_head = plan.cuts_logits() ? Phase::backward : Phase::forward;
  add_product(of_head, head);
  add(of_head, "loss", 0, 2 * n * v);
  // Whatever is computed again belongs to the backward pass.
  const bool layer = plan.recompute == Recompute::layer;
  const double again = layer ? 1 : 0;
  for (std::size_t i = 0; i < 4; ++i) {
    if (is_again(plan.recompute, i)) add_product(Phase::backward, products[i]);
  }
  add_gradients(head);
  // In rows that are read or written once: a norm reads and writes one each, with the branch two.
  const bool as_codes = plan.keeps_inputs_as_codes();
  const double norm_rows = layer                                     ? 8
                           : plan.recompute == Recompute::perceptron ? (as_codes ? 2 : 4)
                           : plan.recompute == Recompute::selective  ? (as_codes ? 0 : 4)
                                                                     : 0;
  add(Phase::backward, "norm", 0, (2 * l + 1) * 4 * n * c + norm_rows * l * n * c);
  add_gradients(down);
  if (!gated) costs.back().bytes += l * n * f * element;  // the GELU's inputs
  if (!gated &&
      (plan.recompute == Recompute::activation || plan.recompute == Recompute::selective)) {
    add(Phase::backward, "gelu", 0, l * 2 * n * f);
  }
  if (gated) {
    const double computed_again = plan.recompute == Recompute::none ? 0 : 3;
    add(Phase::backward, "swiglu", 0, l * (5 + computed_again) * n * f);
  }
  if (shape.has_qkv_bias() && !plan.lora) {
    add(Phase::backward, "bias", 0, l * n * (qkv + (shape.has_all_biases() ? up.outputs : 0)));
  }
  add_gradients(up);
  add_gradients(proj);
  if (rotates) add(Phase::backward, "rotation", 0, l * 4 * n * qkv);
  add(Phase::backward, "attention", l * (5 + 2 * again) * n * t * q,
      l * n * (2 + again) * (qkv + q));
  add_gradients(of_qkv);
  // The last of the step's passes adds what all ranks looked up.
  const auto passes = static_cast<double>(accumulate);
  const double lookups =
      gathered_lookups(plan) > 0 ? (passes - 1 + plan.parallel.ranks) / passes : 1;
  if (!plan.lora) add(Phase::backward, "embedding", 0, (learned ? 3 : 2) * n * c * lookups);
  if (plan.fp8) add_quantization(costs, plan, accumulate);
  if (plan.lora) {  // A and B are small
    double results = 0, inputs = 0, added = 0;
    for (std::size_t i = 0; i < groups.size(); ++i) {
      for (const LoraGroup::Part& part : groups[i]->parts) {
        const auto outputs = static_cast<double>(part.b.rows);
        results += outputs;
        if (!products[i].adds_result) added += outputs;
      }
      if (!groups[i]->parts.empty()) inputs += static_cast<double>(groups[i]->a.columns);
    }
    const double flops = 2 * n * lora.parameters();
    add(Phase::forward, "adapters", flops, l * n * (inputs + results + added));
    add(Phase::backward, "adapters", 2 * flops, l * n * (2 * inputs + 2 * results));
  }
  const auto parameters = static_cast<double>(
      plan.lora ? plan.adapters().elements : TransformerParameters::of(shape).elements);
  costs.push_back({Phase::update, "optimizer", 0, parameters * update_bytes(plan)});
  return costs;
}

}  // namespace assay

#include "model/transformer/gpt_costs.h"

namespace assay {

std::vector<OperationCost> costs_of(const GptPlan& plan, std::int64_t accumulate) {
  const auto n = static_cast<double>(plan.tokens()), c = static_cast<double>(plan.shape.width),
             f = static_cast<double>(plan.shape.hidden), t = static_cast<double>(plan.sequence),
             l = static_cast<double>(plan.shape.layers),
             v = static_cast<double>(plan.shape.padded_vocabulary());
  const auto element = static_cast<double>(size_of(plan.type));
  std::vector<OperationCost> costs;
  const auto add = [&](Phase phase, const std::string& name, double flops, double elements) {
    costs.push_back({phase, name, flops, elements * element});
  };
  const ProductCost qkv = {n, 3 * c, c}, proj = {n, c, c}, fc = {n, f, c}, fc2 = {n, c, f},
                    head = {n, v, c};
  add(Phase::forward, "embedding", 0, 3 * n * c);
  add(Phase::forward, "norm", 0, (2 * l + 1) * 4 * n * c);
  add(Phase::forward, "qkv", l * qkv.flops(), l * qkv.elements());
  add(Phase::forward, "attention", l * 2 * n * t * c, l * 4 * n * c);
  add(Phase::forward, "proj", l * proj.flops(), l * proj.elements());
  add(Phase::forward, "fc", l * fc.flops(), l * (fc.elements() + n * f));  // also before the GELU
  add(Phase::forward, "fc2", l * fc2.flops(), l * fc2.elements());
  add(Phase::forward, "head", head.flops(), head.elements());
  add(Phase::forward, "loss", 0, 2 * n * v);
  // What is computed again belongs to the backward pass.
  const double layer = plan.recompute == Recompute::layer ? 1 : 0;
  const auto add_gradients = [&](const std::string& name, const ProductCost& product,
                                 double times) {
    for (const char* of : {"_weight", "_input"}) {
      add(Phase::backward, name + of, times * product.flops(), times * product.elements());
    }
  };
  for (const auto& [name, product] : {std::pair("qkv", qkv), {"proj", proj}, {"fc", fc}}) {
    if (layer > 0) add(Phase::backward, name, l * product.flops(), l * product.elements());
  }
  add_gradients("head", head, 1);
  add(Phase::backward, "norm", 0, (2 * l + 1) * 4 * n * c + layer * l * 8 * n * c);
  add_gradients("fc2", fc2, l);
  costs.back().bytes += l * n * f * element;  // the GELU's inputs
  if (plan.recompute == Recompute::gelu) add(Phase::backward, "gelu", 0, l * 2 * n * f);
  if (plan.shape.bias) add(Phase::backward, "bias", 0, l * (n * f + 3 * n * c));
  add_gradients("fc", fc, l);
  add_gradients("proj", proj, l);
  add(Phase::backward, "attention", l * (5 + 2 * layer) * n * t * c, l * (8 + 4 * layer) * n * c);
  add_gradients("qkv", qkv, l);
  // The last of the step's passes adds what all ranks looked up.
  const auto passes = static_cast<double>(accumulate);
  const double lookups =
      gathered_lookups(plan) > 0 ? (passes - 1 + plan.parallel.ranks) / passes : 1;
  add(Phase::backward, "embedding", 0, 3 * n * c * lookups);
  const auto parameters = static_cast<double>(GptParameters::of(plan.shape).elements);
  costs.push_back({Phase::update, "optimizer", 0, parameters * update_bytes(plan)});
  return costs;
}

}  // namespace assay

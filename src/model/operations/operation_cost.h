// What an operation of a training step computes and moves at the least: the roofline its time is
// held against.
#pragma once

#include <string>
#include <string_view>

namespace assay {

enum class Phase { forward, backward, update };

constexpr std::string_view name_of(Phase phase) {
  switch (phase) {
    case Phase::forward:
      return "forward";
    case Phase::backward:
      return "backward";
    case Phase::update:
      break;
  }
  return "update";
}

/// One kind of operation, all its runs in a step together.
struct OperationCost {
  Phase phase = Phase::forward;
  /// Name such as "qkv", "attention" or "norm"; gradients of products: "qkv_weight", "qkv_input".
  std::string name;
  double flops = 0;
  double bytes = 0;  ///< read and written once, as if nothing stayed in a cache
  bool fp8 = false;  ///< whether the operations are products of FP8
};

/// y[rows, outputs] = x[rows, inputs] W^T; each of its gradients costs as much.
struct ProductCost {
  double rows, outputs, inputs;

  double flops() const { return 2 * rows * outputs * inputs; }
  double elements() const { return rows * inputs + outputs * inputs + rows * outputs; }
};

}  // namespace assay

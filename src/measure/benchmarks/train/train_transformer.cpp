#include "measure/benchmarks/train/train_transformer.h"

#include <fmt/format.h>

#include <cmath>

#include "model/operations/fp8_linear.h"
#include "model/training/training_attention.h"
#include "model/training/training_costs.h"
#include "model/training/training_self_check.h"

namespace assay {

double TrainTransformer::tokens() const {
  return static_cast<double>(plan().tokens() * settings_.accumulate);
}

/// Counts the causal half as llm.c does.
double TrainTransformer::keys() const {
  return static_cast<double>(plan().sequence) / 2;
}

Work TrainTransformer::work() const {
  // 4 operations forward and 8 backward for each pair of tokens and element of a query.
  const TransformerShape& shape = plan().shape;
  const double attention =
      12 * static_cast<double>(shape.layers) * static_cast<double>(shape.query_width()) * keys();
  return {.flops = flops_by_parameters() + tokens() * attention,
          .math = plan().fp8 ? DataType::e4m3 : settings_.precision,  // the higher peak
          .tokens = tokens() * ranks(),
          .ranks = ranks()};
}

double TrainTransformer::samples() const {
  return static_cast<double>(plan().batch * settings_.accumulate) * ranks();
}

std::vector<OperationCost> TrainTransformer::costs() const {
  return costs_of(plan(), settings_.accumulate, keys());
}

std::optional<std::string> TrainTransformer::unsupported(const DeviceFacts& facts) const {
  if (plan().fp8) {
    if (const auto reason = fp8_unsupported(facts)) return "products=fp8: " + *reason;
  }
  const auto reason = attention_unsupported(plan(), settings_.precision, facts);
  if (!reason) return std::nullopt;
  return fmt::format("attention={}: {}", name_of(plan().attention), *reason);
}

double TrainTransformer::untrained_loss() const {
  return std::log(static_cast<double>(plan().shape.vocabulary));
}

Result<GateResult> TrainTransformer::check(Device& device, Stream& stream) const {
  return check_training(device, stream, settings_);
}

}  // namespace assay

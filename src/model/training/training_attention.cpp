#include "model/training/training_attention.h"

namespace assay {

std::optional<std::string> attention_unsupported(const TransformerPlan& plan, DataType precision,
                                                 const DeviceFacts& facts) {
  if (plan.attention == AttentionWay::own) {
    return flash_attention_unsupported(facts, precision, plan.shape.head_width);
  }
  if (!is_by_library(plan.attention)) return std::nullopt;
  if (plan.documents) return "does not attend within documents; allowed: own, plain";
  return fused_attention_unsupported(fused_attention_of(plan), facts);
}

Result<std::unique_ptr<Attention>> open_attention(Device& device, GemmPlans& plans,
                                                  const TransformerPlan& plan, DataType precision) {
  if (is_by_library(plan.attention)) return library_attention(device, fused_attention_of(plan));
  if (plan.attention == AttentionWay::own) {
    return flash_attention(device, plan.type, plan.shape.head_width, {.documents = plan.documents});
  }
  return plain_attention(device, plans, precision);
}

}  // namespace assay

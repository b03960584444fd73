// Says which implementation computes a GPT's attention in training.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "model/operations/attention.h"
#include "model/training/training_plan.h"

namespace assay {

/// Returns why the device, or what is installed beside it, cannot compute the plan's attention in
/// the way that it names; empty if it can.
std::optional<std::string> attention_unsupported(const TransformerPlan& plan, DataType precision,
                                                 const DeviceFacts& facts);
/// The way that the plan names. `plans` must outlive it.
Result<std::unique_ptr<Attention>> open_attention(Device& device, GemmPlans& plans,
                                                  const TransformerPlan& plan, DataType precision);

}  // namespace assay

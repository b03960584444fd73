// Whether training is right on this device: a small model's loss and gradients against the
// double-precision reference, before any rate is shown.
#pragma once

#include "compute/device/device.h"
#include "core/result.h"
#include "model/training/gradient_self_check.h"
#include "model/training/transformer_training.h"

namespace assay {

/// Runs two passes of a small GPT with the element type, precision, head width (128 at most),
/// attention, recomputing and biases of `settings`, with and without epilogues for the GELU where
/// there are such. Error: as the device's calls.
Result<GateResult> check_training(Device& device, Stream& stream,
                                  const TransformerSettings& settings);

}  // namespace assay

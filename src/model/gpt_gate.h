// Whether training is right on this device: a small model's loss and gradients against the
// double-precision reference, before any rate is shown.
#pragma once

#include "compute/device/device.h"
#include "core/result.h"
#include "model/gpt_training.h"

namespace assay {

struct GateResult {
  bool passed = false;
  double loss_error = 0;      ///< |loss - reference|
  double gradient_error = 0;  ///< the largest over all tensors of |g - reference| / |reference|
  double tolerance = 0;       ///< of gradient_error
  std::string worst;          ///< the tensor that has it
};

/// Whether an error is larger than another; what is not a number is larger than any, and stays so.
bool is_worse(double error, double than);

/// Runs two passes of a small model with the element type, precision, head width (128 at most),
/// attention, recomputing and biases of `settings`,
/// with and without epilogues for the GELU where there are such. Tolerances: f32 1e-4 (tf32 5e-3),
/// bf16 3e-2; of the loss 1e-4 and 0.02.
Result<GateResult> check_training(Device& device, Stream& stream, const TrainingSettings& settings);

}  // namespace assay

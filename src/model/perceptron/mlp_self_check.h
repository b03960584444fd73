// Whether training a multi-layer perceptron is right on this device.
#pragma once

#include "compute/device/device.h"
#include "core/result.h"
#include "model/perceptron/mlp_training.h"
#include "model/training/gradient_self_check.h"

namespace assay {

/// Runs two passes of a small perceptron with the element type, precision, number of layers and
/// biases of `settings`.
Result<GateResult> check_training(Device& device, Stream& stream, const MlpSettings& settings);

}  // namespace assay

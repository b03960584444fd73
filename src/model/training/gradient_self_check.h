// The gate before training: a small model's loss and gradients on the device at hand against the
// double-precision reference. No speed is reported without it.
#pragma once

#include <string>
#include <vector>

#include "core/data_type.h"
#include "core/result.h"
#include "model/training/training.h"

namespace assay {

struct GateResult {
  bool passed = false;
  double loss_error = 0;      ///< |loss - reference|
  double gradient_error = 0;  ///< the largest |g - reference| / |reference| of a tensor
  double tolerance = 0;       ///< allowed of gradient_error
  std::string worst;          ///< the tensor that has it
};

/// The loss scale of f16 in the check. Its few tokens have larger gradients than a real batch,
/// which overflow with the default.
inline constexpr float gate_loss_scale = 1024;

/// Returns whether an error is larger than another; what is not a number is larger than any, and
/// stays so.
bool is_worse(double error, double than);

/// Runs the passes of one step, all of them over one batch, and compares their gradients and loss
/// with the reference's; `result` keeps the worst of all comparisons.
Status compare_gradients(Training& training, Stream& stream, const std::vector<double>& gradients,
                         double loss, GateResult& result);

/// What the parts between matrix products do to small errors.
enum class Smoothness {
  smooth,
  /// A ReLU whose input is nearer to 0 than the error turns, and a share s of such leaves an error
  /// of sqrt(s) in the gradients.
  kinked,
};

/// Decides by the precision: gradients within 1e-4 for f32, 5e-3 for tf32 and f16, 3e-2 for bf16
/// (kinked: 5e-2 and 8e-2), 0.2 for e4m3; the loss within 1e-4, 1e-3, 0.02 and 0.05. The reference
/// does not quantize: a code of fp8 is within 6% of its number, of a gradient within 13%.
void judge(GateResult& result, DataType precision, Smoothness smoothness);

}  // namespace assay

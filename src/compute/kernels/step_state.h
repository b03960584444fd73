// Values that a training step reads and writes on the device instead of asking the host, so that
// one graph can replay every step. Shared by kernels and host code.
#pragma once

/// One object per training run, in device memory.
struct StepState {
  unsigned long long step;          ///< steps completed, with or without an update
  double beta1_power, beta2_power;  ///< beta^t of Adam; t: updates, including the current one
  float learning_rate;              ///< used by the current update
  float correction1;                ///< 1 / (1 - beta1^t)
  float correction2;                ///< 1 / (1 - beta2^t)
  float gradient_factor;            ///< clipping and 1 / loss scale: gradients are multiplied by it
  float gradient_norm;              ///< before clipping, without the loss scale
  // Loss scaling is for f16, in which gradients below 6e-8 would be lost.
  float loss_scale = 1;        ///< factor by which the next pass's gradients are scaled up
  unsigned good_steps;         ///< since the loss scale changed or an update was skipped
  unsigned long long skipped;  ///< updates skipped because a gradient was not finite
  int skips_update;            ///< whether the current update is skipped
};

/// Determines which of the batches on the device a forward and backward pass reads; passes take
/// them in turn.
struct BatchChoice {
  const StepState* state;
  unsigned long long batches;     ///< number of batches on the device
  unsigned long long accumulate;  ///< passes of a step, summed over ranks
  unsigned long long pass;        ///< index of this pass among them, from 0
  /// For each batch, how many of its targets count in the loss; null: all.
  const int* targets = nullptr;

#if defined(DEVICE)
  DEVICE unsigned long long index() const {
    return (state->step * accumulate + pass) % batches;
  }
  /// The number of targets in all passes of a step, whose batches have `rows` tokens each; at least
  /// 1, so that a mean over them is a number.
  DEVICE float step_targets(unsigned long long rows) const {
    if (targets == nullptr) return static_cast<float>(rows * accumulate);
    unsigned long long total = 0;
    for (unsigned long long i = 0; i < accumulate; ++i) {
      total += static_cast<unsigned long long>(targets[(state->step * accumulate + i) % batches]);
    }
    return static_cast<float>(total > 0 ? total : 1);
  }
#endif
};

/// The constants of an update.
struct UpdateSettings {
  float beta1, beta2, epsilon, weight_decay;
  float clip;  ///< largest allowed norm of the gradients; 0: no limit
  /// The loss scale is doubled after this many good steps. 0: it never changes, and updates with
  /// gradients that are not finite are not skipped.
  unsigned scale_growth_interval = 0;
};

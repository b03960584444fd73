// What a training step reads and writes on the device instead of asking the host, so that one graph
// replays every step. Shared by kernels and host code.
#pragma once

/// One per training run, in device memory.
struct StepState {
  unsigned long long step;          ///< steps completed
  double beta1_power, beta2_power;  ///< beta^t of Adam after the current update
  float learning_rate;              ///< of the current update
  float correction1;                ///< 1 / (1 - beta1^t)
  float correction2;                ///< 1 / (1 - beta2^t)
  float gradient_factor;            ///< clipping and 1 / loss scale: gradients are multiplied by it
  float gradient_norm;              ///< before clipping, without the loss scale
  // Of f16, whose gradients would be lost below 6e-8.
  float loss_scale = 1;        ///< by which the gradients of the next pass are larger than they are
  unsigned good_steps;         ///< since the loss scale was changed
  unsigned long long skipped;  ///< updates left out because a gradient was not finite
  int skips_update;            ///< whether the current one is
};

/// Which of the batches on the device a forward and backward pass reads: they are taken in turn.
struct BatchChoice {
  const StepState* state;
  unsigned long long batches;     ///< on the device
  unsigned long long accumulate;  ///< passes of a step, of all ranks
  unsigned long long pass;        ///< this one among them, from 0

#if defined(DEVICE)
  DEVICE unsigned long long index() const {
    return (state->step * accumulate + pass) % batches;
  }
#endif
};

/// The constants of an update.
struct UpdateSettings {
  float beta1, beta2, epsilon, weight_decay;
  float clip;  ///< largest norm of the gradients; 0: any
  /// After so many good steps the loss scale is doubled; 0: it stays what it is.
  unsigned scale_growth_interval = 0;
};

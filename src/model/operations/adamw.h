// AdamW over all parameters, with clipping of the gradients' norm.
#pragma once

#include <vector>

#include "compute/device/device.h"
#include "compute/kernels/step_state.h"
#include "model/gpt_layout.h"
#include "model/operations/kernels.h"

namespace assay {

/// What an update reads and writes; arenas of GptParameters, or any of as many elements.
struct UpdateArenas {
  void* weights = nullptr;
  void* master = nullptr;  ///< f32; null if the weights are their own
  void *first = nullptr, *second = nullptr;
  const void* gradients = nullptr;
};

class AdamWUpdate {
 public:
  /// `rates`: the learning rate of each step, the last one from then on. `elements`: a multiple of
  /// 8. `seed`: of stochastic rounding.
  static Result<AdamWUpdate> create(Device& device, Stream& stream, DataType type,
                                    OptimizerStates states, const UpdateSettings& settings,
                                    const std::vector<float>& rates, std::size_t elements,
                                    std::uint64_t seed);

  /// master = weights, and moments 0: before the first step.
  Status begin(Stream& stream, const UpdateArenas& arenas, std::size_t moment_bytes);
  /// One update from the gradients; `state` counts the step as complete.
  Status update(Stream& stream, const UpdateArenas& arenas, StepState* state);

 private:
  AdamWUpdate(const DeviceFacts& facts, Kernels kernels)
      : facts_(&facts), kernels_(std::move(kernels)) {}

  const DeviceFacts* facts_;
  Kernels kernels_;
  Kernel *sum_squares_ = nullptr, *prepare_ = nullptr, *adamw_ = nullptr, *end_step_ = nullptr;
  Kernel* widen_ = nullptr;  // bf16 only
  bool stochastic_ = false;
  UpdateSettings settings_ = {};
  Buffer rates_, partial_;
  std::size_t elements_ = 0;
  std::uint64_t seed_ = 0;
};

}  // namespace assay

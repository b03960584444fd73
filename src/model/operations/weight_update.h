// The update at the end of a step, AdamW or gradient descent over all parameters, with clipping of
// the gradients' norm.
#pragma once

#include <vector>

#include "compute/device/device.h"
#include "compute/kernels/step_state.h"
#include "model/operations/kernels.h"
#include "model/parameter_plan.h"

namespace assay {

/// What an update reads and writes; arenas of one layout. What the plan does not keep is null.
struct UpdateArenas {
  void* weights = nullptr;
  void* master = nullptr;  ///< f32
  void *first = nullptr, *second = nullptr;
  const void* gradients = nullptr;
};

class WeightUpdate {
 public:
  /// `rates`: the learning rate of each step, the last one from then on. `elements`: a multiple of
  /// 8. `seed`: of stochastic rounding.
  static Result<WeightUpdate> create(Device& device, Stream& stream, const ParameterPlan& plan,
                                     const UpdateSettings& settings,
                                     const std::vector<float>& rates, std::size_t elements,
                                     std::uint64_t seed);

  /// master = weights, and moments 0: before the first step.
  Status begin(Stream& stream, const UpdateArenas& arenas);
  /// One update from the gradients; `state` counts the step as complete.
  Status update(Stream& stream, const UpdateArenas& arenas, StepState* state);

 private:
  WeightUpdate(const DeviceFacts& facts, Kernels kernels)
      : facts_(&facts), kernels_(std::move(kernels)) {}
  Status change_weights(Stream& stream, const UpdateArenas& arenas, const StepState* state);

  const DeviceFacts* facts_;
  Kernels kernels_;
  Kernel *sum_squares_ = nullptr, *prepare_ = nullptr, *change_ = nullptr, *end_step_ = nullptr;
  Kernel* widen_ = nullptr;  // bf16 only
  ParameterPlan plan_;
  UpdateSettings settings_ = {};
  Buffer rates_, partial_;
  std::size_t elements_ = 0;
  std::uint64_t seed_ = 0;
};

}  // namespace assay

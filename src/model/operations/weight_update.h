// The update at the end of a step, AdamW or gradient descent over all parameters, with clipping of
// the gradients' norm.
#pragma once

#include <functional>
#include <vector>

#include "compute/device/device.h"
#include "compute/kernels/step_state.h"
#include "model/operations/elementwise.h"
#include "model/operations/typed_kernels.h"
#include "model/tensors/parameter_plan.h"

namespace assay {

/// What an update reads and writes: consecutive elements of a model's parameters. What the plan
/// does not keep is null.
struct UpdatePiece {
  void* weights = nullptr;
  void* master = nullptr;  ///< f32
  void *first = nullptr, *second = nullptr;
  const void* gradients = nullptr;
  std::size_t begin = 0;     ///< in the model's layout
  std::size_t elements = 0;  ///< a multiple of 8
};

/// Adds up one float on the device over all ranks that update a part each.
using SumOverRanks = std::function<Status(Stream&, float*)>;

class WeightUpdate {
 public:
  /// `rates`: the learning rate of each step, the last one from then on. `seed`: of stochastic
  /// rounding. `elementwise` must outlive it.
  static Result<WeightUpdate> create(Device& device, Stream& stream, const ParameterPlan& plan,
                                     const UpdateSettings& settings,
                                     const std::vector<float>& rates,
                                     std::vector<UpdatePiece> pieces, std::uint64_t seed,
                                     Elementwise& elementwise);

  /// master = weights, and moments 0: before the first step.
  Status begin(Stream& stream);
  /// Adds squares to the norm of this step's gradients: of those that have not been added from the
  /// `first` on, counted over all pieces. At most once in a step; update() adds the rest, for which
  /// these need not wait.
  Status add_squares(Stream& stream, std::size_t first);
  /// What was added in a step that failed does not count in the next.
  void forget_squares();
  /// One update from the gradients; `state` counts the step as complete, also one whose update is
  /// left out because a gradient of f16 is not finite. `sum`: null if all gradients are here.
  Status update(Stream& stream, StepState* state, const SumOverRanks& sum);
  /// From now on all learning rates are 0: updates change moments only.
  Status hold_weights(Stream& stream) { return stream.fill(rates_.data(), 0, rates_.bytes()); }

 private:
  static constexpr std::size_t everything_left = ~std::size_t{0};

  WeightUpdate(const DeviceFacts& facts, Kernels kernels)
      : facts_(&facts), kernels_(std::move(kernels)) {}
  LaunchShape shape_of(std::size_t elements) const;
  Status prepare(Stream& stream, StepState* state, const SumOverRanks& sum);
  Status change_weights(Stream& stream, const UpdatePiece& piece, const StepState* state);

  const DeviceFacts* facts_;
  Kernels kernels_;
  Kernel *sum_squares_ = nullptr, *sum_partial_ = nullptr, *prepare_ = nullptr;
  Kernel *change_ = nullptr, *end_step_ = nullptr;
  Elementwise* elementwise_ = nullptr;
  ParameterPlan plan_;
  UpdateSettings settings_ = {};
  std::vector<UpdatePiece> pieces_;
  Buffer rates_;
  Buffer partial_;  // sums of squares: one float per block of each launch, and their sum
  // Of the current step: how many of them there are, and from which gradient on.
  std::uint64_t partials_ = 0;
  std::size_t squared_from_ = everything_left;
  std::uint64_t seed_ = 0;
};

}  // namespace assay

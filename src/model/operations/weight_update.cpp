#include "model/operations/weight_update.h"

namespace assay {
namespace {

bool is_stochastic(const ParameterPlan& plan) {
  return plan.type == DataType::bf16 && plan.states == OptimizerStates::stochastic;
}

}  // namespace

Result<WeightUpdate> WeightUpdate::create(Device& device, Stream& stream, const ParameterPlan& plan,
                                          const UpdateSettings& settings,
                                          const std::vector<float>& rates, std::size_t elements,
                                          std::uint64_t seed) {
  WeightUpdate made(device.facts(), TRY(Kernels::build(device, "weight_update", plan.type)));
  const std::string rule = plan.optimizer == Optimizer::adamw ? "adamw" : "sgd";
  made.sum_squares_ = TRY(made.kernels_.of_type("sum_squares"));
  made.prepare_ = TRY(made.kernels_.plain("prepare_update"));
  made.change_ = TRY(made.kernels_.of_type(is_stochastic(plan) ? rule + "_stochastic" : rule));
  made.end_step_ = TRY(made.kernels_.plain("end_step"));
  if (plan.type == DataType::bf16) made.widen_ = TRY(made.kernels_.of_type("widen"));
  made.plan_ = plan;
  made.settings_ = settings;
  made.elements_ = elements;
  made.seed_ = seed;
  made.rates_ = TRY(device.allocate(rates.size() * sizeof(float), MemoryKind::device));
  TRY(stream.copy(made.rates_.data(), rates.data(), made.rates_.bytes()));
  TRY(stream.synchronize());
  const LaunchShape shape = shape_of_elements(device.facts(), std::int64_t(elements));
  made.partial_ = TRY(device.allocate(shape.grid.x * sizeof(float), MemoryKind::device));
  return made;
}

Status WeightUpdate::begin(Stream& stream, const UpdateArenas& arenas) {
  if (arenas.master != nullptr) {
    TRY(launch(stream, *widen_, shape_of_elements(*facts_, std::int64_t(elements_)), arenas.master,
               arenas.weights, std::uint64_t(elements_)));
  }
  if (plan_.moment_bytes() == 0) return {};
  TRY(stream.fill(arenas.first, 0, elements_ * plan_.moment_bytes()));
  return stream.fill(arenas.second, 0, elements_ * plan_.moment_bytes());
}

Status WeightUpdate::update(Stream& stream, const UpdateArenas& arenas, StepState* state) {
  const LaunchShape shape = shape_of_elements(*facts_, std::int64_t(elements_));
  TRY(launch(stream, *sum_squares_, shape, partial_.data(), arenas.gradients,
             std::uint64_t(elements_)));
  TRY(launch(stream, *prepare_, {{1}, {block_threads}}, state, partial_.data(),
             std::uint64_t(shape.grid.x), rates_.data(),
             std::uint64_t(rates_.bytes() / sizeof(float)), settings_));
  TRY(change_weights(stream, arenas, state));
  return launch(stream, *end_step_, {}, state);
}

Status WeightUpdate::change_weights(Stream& stream, const UpdateArenas& arenas,
                                    const StepState* state) {
  const LaunchShape shape = shape_of_elements(*facts_, std::int64_t(elements_));
  const auto count = std::uint64_t(elements_);
  const UpdateArenas& a = arenas;
  if (plan_.optimizer == Optimizer::sgd) {
    if (is_stochastic(plan_)) {
      return launch(stream, *change_, shape, a.weights, a.gradients, state, settings_, count,
                    seed_);
    }
    return launch(stream, *change_, shape, a.weights, a.master, a.gradients, state, settings_,
                  count);
  }
  if (is_stochastic(plan_)) {
    return launch(stream, *change_, shape, a.weights, a.first, a.second, a.gradients, state,
                  settings_, count, seed_);
  }
  return launch(stream, *change_, shape, a.weights, a.master, a.first, a.second, a.gradients, state,
                settings_, count);
}

}  // namespace assay

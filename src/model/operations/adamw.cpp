#include "model/operations/adamw.h"

namespace assay {

Result<AdamWUpdate> AdamWUpdate::create(Device& device, Stream& stream, DataType type,
                                        OptimizerStates states, const UpdateSettings& settings,
                                        const std::vector<float>& rates, std::size_t elements,
                                        std::uint64_t seed) {
  AdamWUpdate made(device.facts(), TRY(Kernels::build(device, "adamw", type)));
  made.stochastic_ = type == DataType::bf16 && states == OptimizerStates::stochastic;
  made.sum_squares_ = TRY(made.kernels_.of_type("sum_squares"));
  made.prepare_ = TRY(made.kernels_.plain("prepare_update"));
  made.adamw_ = TRY(made.kernels_.of_type(made.stochastic_ ? "adamw_stochastic" : "adamw"));
  made.end_step_ = TRY(made.kernels_.plain("end_step"));
  if (type == DataType::bf16) made.widen_ = TRY(made.kernels_.of_type("widen"));
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

Status AdamWUpdate::begin(Stream& stream, const UpdateArenas& arenas, std::size_t moment_bytes) {
  if (arenas.master != nullptr) {
    TRY(launch(stream, *widen_, shape_of_elements(*facts_, std::int64_t(elements_)), arenas.master,
               arenas.weights, std::uint64_t(elements_)));
  }
  TRY(stream.fill(arenas.first, 0, elements_ * moment_bytes));
  return stream.fill(arenas.second, 0, elements_ * moment_bytes);
}

Status AdamWUpdate::update(Stream& stream, const UpdateArenas& arenas, StepState* state) {
  const LaunchShape shape = shape_of_elements(*facts_, std::int64_t(elements_));
  const auto count = std::uint64_t(elements_);
  TRY(launch(stream, *sum_squares_, shape, partial_.data(), arenas.gradients, count));
  TRY(launch(stream, *prepare_, {{1}, {block_threads}}, state, partial_.data(),
             std::uint64_t(shape.grid.x), rates_.data(),
             std::uint64_t(rates_.bytes() / sizeof(float)), settings_));
  if (stochastic_) {
    TRY(launch(stream, *adamw_, shape, arenas.weights, arenas.first, arenas.second,
               arenas.gradients, state, settings_, count, seed_));
  } else {
    TRY(launch(stream, *adamw_, shape, arenas.weights, arenas.master, arenas.first, arenas.second,
               arenas.gradients, state, settings_, count));
  }
  return launch(stream, *end_step_, {}, state);
}

}  // namespace assay

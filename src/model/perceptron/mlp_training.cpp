#include "model/perceptron/mlp_training.h"

#include <fmt/format.h>

#include <cmath>

#include "model/tensors/weights.h"

namespace assay {

Status MlpTraining::pass(Stream& stream, std::uint64_t number) {
  const BatchChoice choice = choose_batch(number, batches_.batches);
  TRY(forward(stream, batches_, choice));
  TRY(timed(stream, Phase::forward, "loss",
            record_losses(stream, losses_of_samples(), choice, number)));
  return backward(stream, number);
}

Result<Training::Losses> MlpTraining::held_back_pass(Stream& stream, BatchChoice choice) {
  TRY(forward(stream, held_back_, choice));
  return losses_of_samples();
}

Status MlpTraining::forward(Stream& stream, const DeviceRegressionBatches& data,
                            BatchChoice choice) {
  const std::vector<std::int64_t>& widths = plan_.shape.widths;
  const std::vector<Tensor>& results = activations_.results;
  const auto done = [&](std::string_view name, Status queued) {
    return timed(stream, Phase::forward, name, std::move(queued));
  };
  TRY(done("input", squared_error_->choose_inputs(stream, active(results.front()), data, choice,
                                                  {plan_.batch, widths.front()})));
  for (std::size_t i = 0; i < plan_.shape.layers(); ++i) {
    const MlpParameters::Layer& p = parameters_.layers[i];
    const LinearShape shape = {plan_.batch, widths[i + 1], widths[i]};
    void* const y = active(results[i + 1]);
    const void* const x = active(results[i]);
    const bool last = i + 1 == plan_.shape.layers();
    TRY(enter(stream, Phase::forward, i));
    TRY(done(fmt::format("layer{}", i),
             last ? linear_->forward(stream, y, x, weight(p.weight), weight_or_null(p.bias), shape)
                  : linear_->forward_relu(stream, y, x, weight(p.weight), weight_or_null(p.bias),
                                          shape)));
    TRY(leave(stream, Phase::forward, i));
  }
  return done("loss",
              squared_error_->forward_backward(stream, active(results.back()), losses_.data(), data,
                                               choice, {plan_.batch, widths.back()}));
}

Status MlpTraining::backward(Stream& stream, std::uint64_t number) {
  const std::vector<std::int64_t>& widths = plan_.shape.widths;
  const void* dy = active(activations_.results.back());
  for (std::size_t i = plan_.shape.layers(); i-- > 0;) {
    const MlpParameters::Layer& p = parameters_.layers[i];
    const LinearShape shape = {plan_.batch, widths[i + 1], widths[i]};
    const void* const x = active(activations_.results[i]);
    const auto done = [&](const char* what, Status queued) {
      return timed(stream, Phase::backward, fmt::format("layer{}_{}", i, what), std::move(queued));
    };
    const bool add = adds_gradients(i, number);
    TRY(enter(stream, Phase::backward, i));
    TRY(done("weight", linear_->weight_gradient(stream, gradient(p.weight), dy, x, shape, add)));
    if (plan_.shape.bias) {
      TRY(done("bias", column_sums_->of(stream, gradient(p.bias), dy, scratch_.data(),
                                        {plan_.batch, widths[i + 1]}, add)));
    }
    if (i > 0) {
      void* const dx = active(activations_.gradients[i - 1]);
      TRY(done("input", linear_->input_gradient_relu(stream, dx, dy, weight(p.weight), x, shape)));
      dy = dx;
    }
    TRY(leave(stream, Phase::backward, i));
  }
  return {};
}

// ---- Before the first step ----

MlpTraining::MlpTraining(Device& device, Stream& stream, const MlpSettings& settings)
    : Training(device, stream, settings, settings.plan),
      plan_(settings.plan),
      parameters_(MlpParameters::of(plan_.shape, plan_.parallel.ranks)),
      activations_(MlpActivations::of(plan_)) {}

Result<std::unique_ptr<MlpTraining>> MlpTraining::create(Device& device, Stream& stream,
                                                         const MlpSettings& settings,
                                                         const RegressionBatches& batches,
                                                         const RegressionBatches& held_back) {
  auto made = std::unique_ptr<MlpTraining>(new MlpTraining(device, stream, settings));
  TRY(made->allocate_arenas(stream));
  made->batches_ = TRY(DeviceRegressionBatches::upload(device, stream, made->plan_.type, batches));
  if (held_back.batches > 0) {
    made->held_back_ =
        TRY(DeviceRegressionBatches::upload(device, stream, made->plan_.type, held_back));
  }
  TRY(made->load_operations());
  TRY(made->restart(stream));
  return made;
}

Status MlpTraining::allocate_arenas(Stream& stream) {
  TRY(check_memory(memory_of(plan_),
                   [&](std::uint64_t bytes) { return what_would_fit(plan_, bytes); }));
  TRY(allocate_parameters(stream, parameters_.named(), parameters_.sections, 0));
  TRY(allocate(active_, activations_.elements * element_));
  TRY(allocate(losses_, static_cast<std::uint64_t>(plan_.batch) * sizeof(float)));
  return allocate(scratch_, scratch_bytes(plan_));
}

Status MlpTraining::load_operations() {
  activation_functions_ = TRY(Activations::create(device_, plan_.type));
  column_sums_ = TRY(ColumnSums::create(device_, plan_.type));
  squared_error_ = TRY(SquaredError::create(device_, plan_.type));
  linear_.emplace(plans_, *activation_functions_, training_.precision);
  return {};
}

/// He et al. 2015: normal with the variance 2 / inputs, so that the ReLUs keep the results' size;
/// biases are 0.
Status MlpTraining::write_initial_weights(Stream& stream) {
  InitialWeights initial = TRY(InitialWeights::create(device_, stream, plan_.type, training_.seed));
  const MlpParameters alone = MlpParameters::of(plan_.shape);
  for (std::size_t i = 0; i < parameters_.layers.size(); ++i) {
    const Tensor& matrix = alone.layers[i].weight;
    TRY(initial.normal(weight(parameters_.layers[i].weight), matrix,
                       std::sqrt(2 / static_cast<double>(matrix.columns))));
    TRY(keep_initial(stream, i));
  }
  return stream.synchronize();
}

std::uint64_t MlpTraining::allocated_bytes() const {
  std::uint64_t bytes = Training::allocated_bytes();
  for (const Buffer* buffer : {&active_, &losses_, &scratch_, &batches_.x, &batches_.targets,
                               &held_back_.x, &held_back_.targets}) {
    bytes += buffer->bytes();
  }
  return bytes;
}

}  // namespace assay

// Training a multi-layer perceptron.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "compute/device/device.h"
#include "model/data/regression_batches.h"
#include "model/operations/activations.h"
#include "model/operations/column_sums.h"
#include "model/operations/linear.h"
#include "model/operations/squared_error.h"
#include "model/perceptron/mlp_layout.h"
#include "model/training/training.h"

namespace assay {

struct MlpSettings : TrainingSettings {
  MlpPlan plan;
};

class MlpTraining final : public Training {
 public:
  /// Allocates everything, writes initial weights and uploads the batches. No step trains on those
  /// held back. `device` and `stream` must outlive it. Error: exhausted, naming the bytes.
  static Result<std::unique_ptr<MlpTraining>> create(Device& device, Stream& stream,
                                                     const MlpSettings& settings,
                                                     const RegressionBatches& batches,
                                                     const RegressionBatches& held_back = {});

  Status pass(Stream& stream, std::uint64_t number) override;
  std::uint64_t allocated_bytes() const override;

 private:
  MlpTraining(Device& device, Stream& stream, const MlpSettings& settings);
  Status allocate_arenas(Stream& stream);
  Status load_operations();
  Status write_initial_weights(Stream& stream) override;

  HeldBack held_back() const override {
    return {held_back_.batches, held_back_.batches * plan_.batch};
  }
  Result<Losses> held_back_pass(Stream& stream, BatchChoice choice) override;

  /// Leaves a loss of each sample in losses_.
  Status forward(Stream& stream, const DeviceRegressionBatches& data, BatchChoice choice);
  Status backward(Stream& stream, std::uint64_t number);
  Losses losses_of_samples() const { return {losses_.data(), plan_.batch}; }
  void* active(const Tensor& t) const { return address_of(active_, t, element_); }

  const MlpPlan plan_;
  const MlpParameters parameters_;
  const MlpActivations activations_;
  std::optional<Activations> activation_functions_;
  std::optional<ColumnSums> column_sums_;
  std::optional<Linear> linear_;
  std::optional<SquaredError> squared_error_;
  DeviceRegressionBatches batches_, held_back_;
  Buffer active_;  // arena of MlpActivations
  Buffer losses_;  // f32 [batch]
  Buffer scratch_;
};

}  // namespace assay

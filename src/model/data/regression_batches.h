// Batches of inputs and targets for training a regression.
#pragma once

#include <cstdint>
#include <vector>

#include "compute/device/device.h"
#include "core/data_type.h"
#include "core/result.h"

namespace assay {

/// Batches on the host, one after the other.
struct RegressionBatches {
  std::int64_t batches = 0, rows = 0, inputs = 0, outputs = 0;  ///< rows: of a batch
  std::vector<float> x;                                         ///< [batches, rows, inputs]
  std::vector<float> targets;                                   ///< [batches, rows, outputs]

  /// Takes the last batches away.
  RegressionBatches split_off(std::int64_t count);
};

/// Normally distributed inputs, and targets with something to learn: each is one of the first eight
/// inputs or its opposite, chosen at random. bf16 holds them exactly.
RegressionBatches synthetic_regression(std::int64_t batches, std::int64_t rows, std::int64_t inputs,
                                       std::int64_t outputs, std::uint64_t seed);

/// Regression batches in device memory, as elements of one type.
struct DeviceRegressionBatches {
  static Result<DeviceRegressionBatches> upload(Device& device, Stream& stream, DataType type,
                                                const RegressionBatches& host);

  std::int64_t batches = 0;
  Buffer x, targets;
};

}  // namespace assay

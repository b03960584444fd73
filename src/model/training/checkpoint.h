// A training run as a file, from which it continues as if it had never stopped.
#pragma once

#include <cstdint>
#include <filesystem>

#include "compute/device/device.h"
#include "core/result.h"
#include "model/training/training.h"

namespace assay {

/// The bytes of the tensors in a checkpoint of a training with this plan and number of parameters.
double checkpoint_bytes(const ParameterPlan& plan, double parameters);

/// Writes weights, master weights, moments, the step and, for f16, the loss scale, as safetensors:
/// "weights.layers.0.qkv", "first.layers.0.qkv", ... with a checksum of the file. All ranks call it
/// together and rank 0 writes the file, from which any number of ranks can continue. Error: failed
/// or exhausted, naming the file and the reason.
Status save_checkpoint(Training& training, Stream& stream, const std::filesystem::path& path);

/// A checksum of the file, by which ranks see that all of them read the same. Error: usage, naming
/// the file and what is wrong with it: no training's, changed since it was written, or the first
/// tensor that is missing or of another shape or type; `training` is then unchanged.
Result<std::uint64_t> load_checkpoint(Training& training, Stream& stream,
                                      const std::filesystem::path& path);

}  // namespace assay

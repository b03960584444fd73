// A GPT's weights: how they begin, and how they come from and go to the host.
#pragma once

#include <cstdint>
#include <vector>

#include "compute/device/device.h"
#include "core/data_type.h"
#include "core/result.h"
#include "model/gpt_shape.h"

namespace assay {

/// Initial weights as GPT-2 has them, in an arena laid out as GptParameters, which is 0 before:
/// normal with deviation 0.02, projections back into the stream divided by sqrt(2 L); norms are 1,
/// biases and the vocabulary's padding 0. The same bits on every device.
Status write_initial_weights(Device& device, Stream& stream, void* arena, DataType type,
                             const GptShape& shape, std::uint64_t seed);

/// `weights` as elements of `type` (f32 or bf16, rounded to nearest).
Status write_weights(Stream& stream, void* arena, DataType type, const std::vector<float>& weights);
Result<std::vector<float>> read_weights(Stream& stream, const void* arena, DataType type,
                                        std::size_t count);

}  // namespace assay

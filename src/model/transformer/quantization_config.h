// "quantization_config" in a checkpoint's config.json: which ways to quantize can be read.
#pragma once

#include "core/json.h"
#include "core/result.h"

namespace assay {

/// Matrices of e4m3, by "fp8" (one factor for each, or blocks of 128 x 128) or "compressed-tensors"
/// (a factor for each matrix, row or such block). Error: usage, naming what else it says.
Status check_quantization_config(const Json& config);

}  // namespace assay

// The gate before a decoder is measured: a small version of it, on the same device, against the
// reference in double precision.
#pragma once

#include "model/decoder/decoder.h"

namespace assay {

struct DecoderGate {
  double error = 0;      ///< of logits: the relative distance in the Euclidean norm
  double tolerance = 0;  ///< of the precision

  bool passed() const { return error <= tolerance; }  // false for NaN
};

/// Two prompts of different lengths in one pass, of which one comes in two parts, then tokens of
/// both, and a whole prompt, with blocks of the cache in a mixed order; the logits of every token
/// are compared, with each kind of attention to the cache that may be chosen. Several ranks compute
/// it together, as they will the model, and each compares. The limits in `settings` are not used.
/// Error: as the device's calls; failed, if another rank is lost.
Result<DecoderGate> check_decoder(Device& device, Stream& stream, const DecoderSettings& settings);

/// How far logits may be from those of the same tokens in another way, in the same unit: each layer
/// rounds anew, and roundings add up like random numbers.
double logits_tolerance(DataType precision, std::int64_t layers);
/// What is rounded to codes of fp8 in one of two passes, or in both with different roundings.
struct RoundedToCodes {
  bool inputs = false;  ///< of products
  bool cache = false;   ///< keys and values
};
/// How far logits of such passes may be apart: the noise of rounding to codes, which wide and deep
/// models carry further.
double noise_tolerance(RoundedToCodes rounded, const TransformerShape& shape);
/// Rounds a row to codes of `type` with a factor for the row, as kernels/quantize_rows.cu.
void round_to_codes(DataType type, std::span<double> row);

/// ||found - expected|| / ||expected||
double relative_distance(std::span<const float> found, std::span<const double> expected);

}  // namespace assay

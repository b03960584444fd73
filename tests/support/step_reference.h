// How long the simplest steps of the simulated server take.
#pragma once

#include "serving/simulator/capacity.h"

namespace assay::simulator {

/// A step in which `sequences` decode with `kv_tokens` in total in their caches.
inline double decode_seconds(const Model& model, const Hardware& hardware, double sequences,
                             double kv_tokens) {
  return step_seconds(model, hardware, {sequences, sequences, kv_tokens, 0});
}

/// A prompt of `tokens` on its own, in one chunk.
inline double prefill_seconds(const Model& model, const Hardware& hardware, double tokens) {
  return step_seconds(model, hardware, {tokens, 1, tokens, chunk_pairs(tokens, 0)});
}

}  // namespace assay::simulator

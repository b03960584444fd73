// How many sequences a GPU or a slice of it holds, and how long a step takes: formulas, no state.
// They are a roofline model with two efficiencies, not a measurement. Source: docs/serve-sim.md.
#pragma once

#include <cstdint>

#include "serving/simulator/presets.h"

namespace assay::simulator {

/// Bytes of keys and values that one token leaves in the cache.
double kv_bytes_per_token(const Model& model);
/// Bytes of memory that the weights take.
double weight_bytes(const Model& model);
/// Bytes of weights that one step reads: all but the embedding table, of which it reads rows.
double weight_bytes_read(const Model& model);

/// What of a GPU holds weights and cache: a whole one, or each of `parts` equal partitions, every
/// one of which has its own weights and its own workspace.
struct Memory {
  double bytes = 0;          ///< of the whole GPU
  double utilization = 0.9;  ///< the share that a server takes
  double reserved = 2e9;     ///< bytes of workspace, graphs and context, in each partition
  double weights = 0;        ///< weight_bytes() of the model
  double per_sequence = 0;   ///< bytes of cache
};

/// Bytes left for the cache in each of `parts` partitions; 0 where the weights do not fit.
double cache_bytes(const Memory& memory, int parts);
/// Sequences that each of `parts` partitions holds.
std::uint64_t sequences_per_part(const Memory& memory, int parts);
/// Sequences in all partitions over those of the whole, both as real numbers:
/// 1 - (k-1)(W+R)/(uM-W-R), and 0 where the weights do not fit.
double share_of_whole(const Memory& memory, int parts);
/// The most partitions that leave any room for a cache; 0: not even the whole GPU does.
int most_parts(const Memory& memory);

/// What a step reaches of a GPU or of a partition.
struct Hardware {
  double bandwidth = 0;       ///< bytes/s
  double flops = 0;           ///< operations/s
  double launch_seconds = 0;  ///< what a step takes beside its work
};

/// Shares of the peaks that serving reaches.
struct Efficiency {
  double bandwidth = 0.9;
  double compute = 0.6;
  double launch_seconds = 1e-4;
};

/// Each of `parts` partitions has its part of bandwidth and compute.
Hardware hardware_of(const Gpu& gpu, const Efficiency& efficiency, int parts);

/// One step of a batch in which some sequences decode a token and others prefill a chunk.
struct StepWork {
  double new_tokens = 0;  ///< through the layers: one of each decoding sequence, and the chunks
  double sequences = 0;   ///< whose next token comes out: each needs the output table once
  double kv_tokens = 0;   ///< in the cache of all sequences of the batch
  /// (query, key) pairs of the chunks. Those of decoding cost bandwidth, which kv_tokens counts.
  double prefill_pairs = 0;
};

/// Pairs of a chunk of `tokens` after `before` cached ones, causal.
double chunk_pairs(double tokens, double before);

/// max(bytes / bandwidth, operations / flops) + launch.
double step_seconds(const Model& model, const Hardware& hardware, const StepWork& work);
/// A step in which `sequences` decode with `kv_tokens` in their caches together.
double decode_seconds(const Model& model, const Hardware& hardware, double sequences,
                      double kv_tokens);
/// A prompt of `tokens` on its own, in one chunk.
double prefill_seconds(const Model& model, const Hardware& hardware, double tokens);

}  // namespace assay::simulator

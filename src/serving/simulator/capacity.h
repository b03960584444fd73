// How many sequences a GPU or a slice of it holds, and how long a step takes: formulas without
// state. They are a roofline model with two efficiencies, not a measurement. Source:
// docs/serve-sim.md.
#pragma once

#include <cstdint>

#include "serving/simulator/presets.h"

namespace assay::simulator {

/// Bytes of keys and values that one token occupies in the cache.
double kv_bytes_per_token(const Model& model);
/// Bytes of memory that the weights occupy.
double weight_bytes(const Model& model);
/// Bytes of weights that one step reads: all but the embedding table, of which it reads only a few
/// rows.
double weight_bytes_read(const Model& model);

/// The memory of a GPU for weights and cache, used as a whole or as `parts` equal partitions, each
/// with its own weights and workspace.
struct Memory {
  double bytes = 0;          ///< memory of the whole GPU
  double utilization = 0.9;  ///< the share that a server uses
  double reserved = 2e9;     ///< bytes of workspace, graphs and context, in each partition
  double weights = 0;        ///< weight_bytes() of the model
  double per_sequence = 0;   ///< bytes of cache of one sequence, or of any unit that is counted
};

/// Bytes left for the cache in each of `parts` partitions; 0 if the weights do not fit.
double cache_bytes(const Memory& memory, int parts);
/// Number of sequences, or other units of Memory::per_sequence, that each of `parts` partitions can
/// hold.
std::uint64_t sequences_per_part(const Memory& memory, int parts);
/// The largest number of partitions that leaves room for a cache; 0: not even the whole GPU does.
int most_parts(const Memory& memory);

/// The performance that a step reaches on a GPU or a partition.
struct Hardware {
  double bandwidth = 0;       ///< bytes/s
  double flops = 0;           ///< operations/s
  double launch_seconds = 0;  ///< fixed time per step
};

/// The shares of peak performance that serving reaches.
struct Efficiency {
  double bandwidth = 0.9;
  double compute = 0.6;
  double launch_seconds = 1e-4;  ///< fixed time per step
};

/// Each of `parts` partitions gets an equal part of bandwidth and compute.
Hardware hardware_of(const Gpu& gpu, const Efficiency& efficiency, int parts);

/// One step of a batch in which some sequences decode a token and others prefill a chunk.
struct StepWork {
  double new_tokens = 0;  ///< tokens through the layers: one per decoding sequence, plus the chunks
  double sequences = 0;   ///< sequences that produce a token: each reads the output table once
  double kv_tokens = 0;   ///< tokens in the caches of all sequences of the batch
  /// (query, key) pairs of the chunks. The pairs of decoding sequences cost bandwidth, which
  /// kv_tokens covers.
  double prefill_pairs = 0;
};

/// (query, key) pairs of a chunk of `tokens` after `before` cached ones, with causal attention.
double chunk_pairs(double tokens, double before);

/// max(bytes / bandwidth, operations / flops) + launch.
double step_seconds(const Model& model, const Hardware& hardware, const StepWork& work);

}  // namespace assay::simulator

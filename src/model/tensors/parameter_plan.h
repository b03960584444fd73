// Says what training keeps of every parameter of a model, and the memory of a run by kind.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/data_type.h"
#include "model/tensors/tensor_layout.h"

namespace assay {

enum class Optimizer {
  adamw,  ///< two moments of every parameter
  sgd,    ///< nothing
};

/// What is kept besides parameters and gradients to update them.
enum class OptimizerStates {
  master,      ///< f32 moments; beside bf16 and f16 parameters also f32 master weights
  stochastic,  ///< bf16 moments and no master weights: updates are rounded stochastically
};

/// What of the parameters each of several ranks keeps only a slice of.
enum class Sharding {
  none,        ///< nothing: gradients are averaged (distributed data parallel)
  optimizer,   ///< what the optimizer keeps (ZeRO-1)
  parameters,  ///< that, weights and gradients: a section is whole only while it is used (ZeRO-3,
               ///< fully sharded data parallel)
};

/// How ranks share the training of one model.
struct ParallelPlan {
  int ranks = 1;
  int replicas = 1;  ///< ranks that train at the same time without communication
  Sharding sharding = Sharding::none;
  bool f32_sums = false;  ///< whether bf16 and f16 gradients are added up in f32
  std::uint64_t bucket_bytes = std::uint64_t{32} << 20;  ///< lower limit of gradients sent together

  int all_ranks() const { return ranks * replicas; }
  bool slices_optimizer() const { return sharding != Sharding::none; }
  bool slices_parameters() const { return sharding == Sharding::parameters; }
  /// Returns whether ranks gather `rows` elements of each rank that are still to be added to
  /// `whole` elements of gradients. They do where that moves fewer bytes at the end of the backward
  /// pass than reducing the whole there. The whole is reduced in any case, earlier, beside the
  /// passes. Each of n ranks then sends (n - 1) rows instead of waiting for 2 (n - 1)/n of the
  /// whole, or half of that with zero1.
  bool gathers_rows(std::uint64_t rows, std::uint64_t whole) const {
    if (ranks == 1 || f32_sums || slices_parameters()) return false;
    return rows * static_cast<std::uint64_t>(ranks) < whole * (slices_optimizer() ? 1 : 2);
  }
};

struct ParameterPlan {
  DataType type = DataType::bf16;  ///< of parameters, gradients and activations: f32, bf16 or f16
  Optimizer optimizer = Optimizer::adamw;
  OptimizerStates states = OptimizerStates::master;
  ParallelPlan parallel;

  bool has_master() const { return states == OptimizerStates::master && type != DataType::f32; }
  DataType moment_type() const {
    return states == OptimizerStates::master || type == DataType::f32 ? DataType::f32 : type;
  }
  /// Bytes of one of the moments of a parameter, and of all that the optimizer keeps of it.
  std::uint64_t moment_bytes() const {
    return optimizer == Optimizer::adamw ? size_of(moment_type()) : 0;
  }
  std::uint64_t optimizer_bytes() const {
    return 2 * moment_bytes() + (has_master() ? sizeof(float) : 0);
  }
};

/// Bytes that the update of a parameter reads and writes: its gradient, itself (not read beside a
/// master), and the optimizer's states.
inline double update_bytes(const ParameterPlan& plan) {
  const std::uint64_t element = size_of(plan.type);
  const std::uint64_t itself = (plan.has_master() ? 1 : 2) * element;
  return static_cast<double>(element + itself + 2 * plan.optimizer_bytes());
}

/// Bytes by kind; the sum is what the run allocates, but for batches, losses and workspaces of
/// matrix products. Activations are those beside the gradients' memory, and logits are what they
/// add to these.
struct TrainingMemory {
  std::uint64_t parameters = 0, gradients = 0, optimizer = 0, activations = 0, logits = 0,
                scratch = 0;
  std::uint64_t exchange = 0;  ///< with other ranks
  std::uint64_t total() const {
    return parameters + gradients + optimizer + activations + logits + scratch + exchange;
  }
};

/// What passes fill where they wait for gathered weights, see DataParallel.
constexpr std::uint64_t meeting_bytes = sizeof(std::uint32_t);

/// The memory of parameters, without activations. `kept`: as ParameterArenas.
TrainingMemory memory_of_parameters(const ParameterPlan& plan, const std::vector<Section>& sections,
                                    std::size_t kept = 0);

/// The largest batch whose memory is at most `bytes`; 0 if not even a batch of one fits.
std::int64_t largest_batch(const std::function<TrainingMemory(std::int64_t batch)>& memory_of_batch,
                           std::uint64_t bytes);

}  // namespace assay

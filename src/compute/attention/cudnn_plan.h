// A graph of cuDNN's operations made runnable: its engine chosen, its kernels loaded, its operands
// bound.
#pragma once

#include <array>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "compute/attention/cudnn_graph.h"

namespace assay::cudnn {

/// A tensor of the graph and where it lies: on the device, or in host memory if it is a value.
struct Operand {
  Id id;
  const void* address;
};

class Plan {
 public:
  /// Takes the first configuration, in the order of cuDNN's own heuristics, that can be loaded on
  /// the current context's device; those with engines that cuDNN notes as nondeterministic last.
  /// `role`: "attention forward", for messages. Error: unsupported if there is none.
  static Result<Plan> choose(const Library& library, void* handle, OperationGraph graph,
                             std::string_view role);

  std::uint64_t workspace_bytes() const { return workspace_bytes_; }
  bool noted_nondeterministic() const { return noted_nondeterministic_; }
  /// Queues the work on the handle's stream. Operands must come in the same order in every call;
  /// what is made for a set of them is kept, so that repeating it costs a look-up.
  Status execute(const Library& library, void* handle, std::span<const Operand> operands,
                 void* workspace);

 private:
  static constexpr std::size_t most_operands = 16;
  using Addresses = std::array<const void*, most_operands>;

  Plan(OperationGraph graph, Descriptor config, Descriptor plan, std::uint64_t workspace_bytes,
       bool noted_nondeterministic)
      : graph_(std::move(graph)),
        config_(std::move(config)),
        plan_(std::move(plan)),
        workspace_bytes_(workspace_bytes),
        noted_nondeterministic_(noted_nondeterministic) {}

  static Result<std::vector<Descriptor>> configurations(const Library& library,
                                                        const OperationGraph& graph, int mode);
  static Result<bool> is_noted_nondeterministic(const Library& library, const Descriptor& config);
  static Result<Descriptor> bind(const Library& library, std::span<const Operand> operands,
                                 void* workspace);

  OperationGraph graph_;  // what the plan was made from lives as long as it
  Descriptor config_, plan_;
  std::uint64_t workspace_bytes_;
  bool noted_nondeterministic_;
  std::map<Addresses, Descriptor> packs_;
};

}  // namespace assay::cudnn

// A graph of cuDNN's operations made runnable: its engine chosen, its kernels loaded, its operands
// bound.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compute/vendor/libraries/cudnn_graph.h"

namespace assay::cudnn {

/// A tensor of the graph and where it lies: on the device, or in host memory if it is a value.
struct Operand {
  std::int64_t id;
  const void* address;
};

/// What a configuration's engine does, as far as cuDNN says.
struct EngineNotes {
  bool down_converts = false;  ///< rounds operands to a narrower type
  bool tensor_cores = false;
  bool reduces_narrowly = false;  ///< sums in a narrower type than the graph asks for
  bool transforms = false;        ///< Winograd's way, or Fourier's
  bool nondeterministic = false;
};

class Plan {
 public:
  /// Takes the first configuration, in the order of cuDNN's own heuristics, that can be loaded on
  /// the current context's device; those with engines that cuDNN notes as nondeterministic last.
  /// `role`: "attention forward", for messages. Error: unsupported if there is none.
  static Result<Plan> choose(const Library& library, void* handle, OperationGraph graph,
                             std::string_view role);
  /// All that can be loaded, each engine with the same settings once, in the order of `modes` of
  /// the heuristics and within them; at most `most`. `allowed` sees an engine's notes before it is
  /// loaded. Error: unsupported if there is none.
  static Result<std::vector<Plan>> all(const Library& library, void* handle, OperationGraph graph,
                                       std::span<const int> modes, std::size_t most,
                                       const std::function<bool(const EngineNotes&)>& allowed,
                                       std::string_view role);

  std::uint64_t workspace_bytes() const { return workspace_bytes_; }
  const EngineNotes& notes() const { return notes_; }
  /// "engine=38 k2=12 k13=0": which it is, of one version of cuDNN.
  Result<std::string> name(const Library& library) const;
  /// Queues the work on the handle's stream. Operands must come in the same order in every call;
  /// what is made for a set of them is kept, so that repeating it costs a look-up.
  Status execute(const Library& library, void* handle, std::span<const Operand> operands,
                 void* workspace);

 private:
  static constexpr std::size_t most_operands = 16;
  using Addresses = std::array<const void*, most_operands + 1>;  // and the workspace's
  struct Choice {
    Descriptor config;
    EngineNotes notes;
  };

  Plan(std::shared_ptr<const OperationGraph> graph, Choice choice, Descriptor plan,
       std::uint64_t workspace_bytes)
      : graph_(std::move(graph)),
        config_(std::move(choice.config)),
        plan_(std::move(plan)),
        workspace_bytes_(workspace_bytes),
        notes_(choice.notes) {}

  static Result<std::vector<Descriptor>> configurations(const Library& library,
                                                        const OperationGraph& graph, int mode);
  static Result<EngineNotes> notes_of(const Library& library, const Descriptor& config);
  static Result<std::string> name_of(const Library& library, const Descriptor& config);
  /// Of the modes that know some; `last`: why a mode does not.
  static Result<std::vector<Choice>> choices(const Library& library, const OperationGraph& graph,
                                             std::span<const int> modes,
                                             std::optional<Error>& last);
  static Result<Plan> load(const Library& library, void* handle,
                           const std::shared_ptr<const OperationGraph>& graph, Choice choice);
  static Result<Descriptor> bind(const Library& library, std::span<const Operand> operands,
                                 void* workspace);
  static Error none(const Library& library, std::string_view role,
                    const std::optional<Error>& last);

  std::shared_ptr<const OperationGraph> graph_;  // what the plan was made from lives as long as it
  Descriptor config_, plan_;
  std::uint64_t workspace_bytes_;
  EngineNotes notes_;
  std::map<Addresses, Descriptor> packs_;
};

}  // namespace assay::cudnn

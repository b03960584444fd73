// Makes a graph of cuDNN's operations runnable: chooses its engine, loads its kernels and binds its
// operands.
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

/// A tensor of the graph and its address: on the device, or in host memory if it is a single value.
struct Operand {
  std::int64_t id;
  const void* address;
};

/// Properties of a configuration's engine, as reported by cuDNN.
struct EngineNotes {
  bool down_converts = false;  ///< rounds operands to a narrower type
  bool tensor_cores = false;
  bool reduces_narrowly = false;  ///< sums in a narrower type than the graph asks for
  bool transforms = false;        ///< computes by Winograd or Fourier transforms
  bool nondeterministic = false;
};

class Plan {
 public:
  /// Takes the first configuration that can be loaded on the current context's device, in the order
  /// of cuDNN's heuristics. Engines that cuDNN marks as nondeterministic come last. `role` is for
  /// messages: "attention forward". Error: if there is none, that of the last one that could not be
  /// loaded; unsupported if cuDNN proposes none.
  static Result<Plan> choose(const Library& library, void* handle, OperationGraph graph,
                             std::string_view role);
  /// Returns at most `most` configurations that can be loaded, each engine with the same settings
  /// only once. They are in the order of the heuristics' `modes`, and within a mode in its order.
  /// `allowed` sees an engine's notes before the engine is loaded. Error: as choose().
  static Result<std::vector<Plan>> all(const Library& library, void* handle, OperationGraph graph,
                                       std::span<const int> modes, std::size_t most,
                                       const std::function<bool(const EngineNotes&)>& allowed,
                                       std::string_view role);

  std::uint64_t workspace_bytes() const { return workspace_bytes_; }
  const EngineNotes& notes() const { return notes_; }
  /// Identifies the engine within one version of cuDNN: "engine=38 k2=12 k13=0".
  Result<std::string> name(const Library& library) const;
  /// Queues the work on the handle's stream. Operands, at most 16, must come in the same order in
  /// every call. What is prepared for a set of addresses is kept, for up to 256 sets, so that a
  /// repeated call costs a look-up.
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
  /// Lists the configurations of all modes that have some; `last` receives why a mode has none.
  static Result<std::vector<Choice>> choices(const Library& library, const OperationGraph& graph,
                                             std::span<const int> modes,
                                             std::optional<Error>& last);
  static Result<Plan> load(const Library& library, void* handle,
                           const std::shared_ptr<const OperationGraph>& graph, Choice choice);
  static Result<Descriptor> bind(const Library& library, std::span<const Operand> operands,
                                 void* workspace);
  static Error none(const Library& library, std::string_view role,
                    const std::optional<Error>& last);

  std::shared_ptr<const OperationGraph> graph_;  // keeps the plan's graph alive
  Descriptor config_, plan_;
  std::uint64_t workspace_bytes_;
  EngineNotes notes_;
  std::map<Addresses, Descriptor> packs_;
};

}  // namespace assay::cudnn

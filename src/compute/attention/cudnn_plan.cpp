#include "compute/attention/cudnn_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace assay::cudnn {

/// Empty where this mode of the heuristics knows none.
Result<std::vector<Descriptor>> Plan::configurations(const Library& library,
                                                     const OperationGraph& graph, int mode) {
  constexpr std::size_t most = 16;
  Descriptor heuristics = TRY(Descriptor::create(library, descriptor::heuristics, "heuristics"));
  TRY(heuristics.set(attribute::heuristics_graph, graph.descriptor()));
  TRY(heuristics.set(attribute::heuristics_mode, type::heuristics_mode, mode));
  TRY(heuristics.finalize());
  std::vector<Descriptor> found;
  std::vector<void*> addresses;
  for (std::size_t i = 0; i < most; ++i) {
    found.push_back(TRY(Descriptor::create(library, descriptor::engine_config, "a configuration")));
    addresses.push_back(found.back().get());
  }
  const std::int64_t count = TRY(heuristics.get(attribute::heuristics_results, type::descriptor,
                                                std::int64_t{most}, addresses.data()));
  while (found.size() > static_cast<std::size_t>(std::max<std::int64_t>(count, 0))) {
    found.pop_back();
  }
  return found;
}

Result<bool> Plan::is_noted_nondeterministic(const Library& library, const Descriptor& config) {
  constexpr std::size_t most = 32;  // notes that there are: 10 in cuDNN 9.19
  const Descriptor engine = TRY(Descriptor::create(library, descriptor::engine, "an engine"));
  void* address = engine.get();
  TRY(config.get(attribute::config_engine, type::descriptor, 1, &address));
  std::array<int, most> notes = {};
  const std::int64_t count = TRY(
      engine.get(attribute::engine_notes, type::numerical_note, std::int64_t{most}, notes.data()));
  const auto end = notes.begin() + std::clamp<std::int64_t>(count, 0, std::int64_t{most});
  return std::find(notes.begin(), end, nondeterministic) != end;
}

Result<Plan> Plan::choose(const Library& library, void* handle, OperationGraph graph,
                          std::string_view role) {
  struct Choice {
    Descriptor config;
    bool noted;
  };
  std::vector<Choice> choices;
  std::optional<Error> last;
  for (const int mode : {heuristics::a, heuristics::fallback}) {
    auto found = configurations(library, graph, mode);
    if (!found.ok()) {
      last = found.error();
      continue;
    }
    for (Descriptor& config : *found) {
      const bool noted = TRY(is_noted_nondeterministic(library, config));
      choices.push_back({std::move(config), noted});
    }
  }
  for (const bool noted : {false, true}) {
    for (Choice& choice : choices) {
      if (choice.noted != noted) continue;
      Descriptor plan = TRY(Descriptor::create(library, descriptor::plan, "a plan"));
      TRY(plan.set(attribute::plan_handle, type::handle, handle));
      TRY(plan.set(attribute::plan_config, choice.config));
      if (Status made = plan.finalize(); !made.ok()) {
        last = made.error();
        continue;
      }
      std::int64_t bytes = 0;
      TRY(plan.get(attribute::plan_workspace, type::int64, 1, &bytes));
      return Plan(std::move(graph), std::move(choice.config), std::move(plan),
                  static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 0)), noted);
    }
  }
  const std::string why = last ? last->message : library.name() + " proposes no engine";
  return Error{last ? last->kind : ErrorKind::unsupported,
               fmt::format("no plan for {}: {}", role, why)};
}

Result<Descriptor> Plan::bind(const Library& library, std::span<const Operand> operands,
                              void* workspace) {
  std::vector<std::int64_t> ids;
  std::vector<const void*> addresses;
  for (const Operand& operand : operands) {
    ids.push_back(operand.id);
    addresses.push_back(operand.address);
  }
  const auto count = static_cast<std::int64_t>(operands.size());
  Descriptor pack = TRY(Descriptor::create(library, descriptor::pack, "a pack of operands"));
  TRY(pack.set(attribute::pack_ids, type::int64, count, ids.data()));
  TRY(pack.set(attribute::pack_pointers, type::pointer, count, addresses.data()));
  TRY(pack.set(attribute::pack_workspace, type::pointer, workspace));
  TRY(pack.finalize());
  return pack;
}

Status Plan::execute(const Library& library, void* handle, std::span<const Operand> operands,
                     void* workspace) {
  Addresses key = {};
  if (operands.size() > key.size()) return Error{ErrorKind::failed, "too many operands for cuDNN"};
  std::transform(operands.begin(), operands.end(), key.begin(),
                 [](const Operand& operand) { return operand.address; });
  auto pack = packs_.find(key);
  if (pack == packs_.end()) {
    pack = packs_.emplace(key, TRY(bind(library, operands, workspace))).first;
  }
  return library.check("executing a plan",
                       library.functions.execute(handle, plan_.get(), pack->second.get()));
}

}  // namespace assay::cudnn

#include "compute/vendor/libraries/cudnn_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace assay::cudnn {

/// Returns an empty list if this mode of the heuristics has no configuration.
Result<std::vector<Descriptor>> Plan::configurations(const Library& library,
                                                     const OperationGraph& graph, int mode) {
  Descriptor heuristics = TRY(Descriptor::create(library, descriptor::heuristics, "heuristics"));
  TRY(heuristics.set(attribute::heuristics_graph, graph.descriptor()));
  TRY(heuristics.set(attribute::heuristics_mode, type::heuristics_mode, mode));
  TRY(heuristics.finalize());
  constexpr std::int64_t most = 256;
  const std::int64_t room = std::min(
      most, TRY(heuristics.get(attribute::heuristics_results, type::descriptor, 0, nullptr)));
  std::vector<Descriptor> found;
  std::vector<void*> addresses;
  for (std::int64_t i = 0; i < room; ++i) {
    found.push_back(TRY(Descriptor::create(library, descriptor::engine_config, "a configuration")));
    addresses.push_back(found.back().get());
  }
  const std::int64_t count =
      TRY(heuristics.get(attribute::heuristics_results, type::descriptor, room, addresses.data()));
  while (found.size() > static_cast<std::size_t>(std::max<std::int64_t>(count, 0))) {
    found.pop_back();
  }
  return found;
}

Result<EngineNotes> Plan::notes_of(const Library& library, const Descriptor& config) {
  constexpr std::size_t most = 32;  // upper bound of the number of notes: 10 in cuDNN 9.19
  const Descriptor engine = TRY(Descriptor::create(library, descriptor::engine, "an engine"));
  void* address = engine.get();
  TRY(config.get(attribute::config_engine, type::descriptor, 1, &address));
  std::array<int, most> notes = {};
  const std::int64_t count = TRY(
      engine.get(attribute::engine_notes, type::numerical_note, std::int64_t{most}, notes.data()));
  const auto end = notes.begin() + std::clamp<std::int64_t>(count, 0, std::int64_t{most});
  const auto has = [&](int note) { return std::find(notes.begin(), end, note) != end; };
  return EngineNotes{.down_converts = has(note::down_converts),
                     .tensor_cores = has(note::tensor_core),
                     .reduces_narrowly = has(note::reduces_narrowly),
                     .transforms = has(note::winograd) || has(note::fft),
                     .nondeterministic = has(note::nondeterministic)};
}

Result<std::string> Plan::name_of(const Library& library, const Descriptor& config) {
  constexpr std::size_t most_knobs = 64;  // 44 kinds in cuDNN 9.19
  const Descriptor engine = TRY(Descriptor::create(library, descriptor::engine, "an engine"));
  void* address = engine.get();
  TRY(config.get(attribute::config_engine, type::descriptor, 1, &address));
  std::int64_t index = 0;
  TRY(engine.get(attribute::engine_index, type::int64, 1, &index));
  std::string name = fmt::format("engine={}", index);
  std::vector<Descriptor> knobs;
  std::vector<void*> addresses;
  for (std::size_t i = 0; i < most_knobs; ++i) {
    knobs.push_back(TRY(Descriptor::create(library, descriptor::knob_choice, "a knob")));
    addresses.push_back(knobs.back().get());
  }
  const std::int64_t count = TRY(config.get(attribute::config_knobs, type::descriptor,
                                            std::int64_t{most_knobs}, addresses.data()));
  for (std::int64_t i = 0; i < std::min(count, std::int64_t{most_knobs}); ++i) {
    int kind = 0;
    std::int64_t value = 0;
    const Descriptor& knob = knobs[static_cast<std::size_t>(i)];
    TRY(knob.get(attribute::knob_type, type::knob_type, 1, &kind));
    TRY(knob.get(attribute::knob_value, type::int64, 1, &value));
    name += fmt::format(" k{}={}", kind, value);
  }
  return name;
}

Result<std::string> Plan::name(const Library& library) const {
  return name_of(library, config_);
}

Result<std::vector<Plan::Choice>> Plan::choices(const Library& library, const OperationGraph& graph,
                                                std::span<const int> modes,
                                                std::optional<Error>& last) {
  std::vector<Choice> choices;
  for (const int mode : modes) {
    auto found = configurations(library, graph, mode);
    if (!found.ok()) {
      last = found.error();
      continue;
    }
    for (Descriptor& config : *found) {
      const EngineNotes notes = TRY(notes_of(library, config));
      choices.push_back({std::move(config), notes});
    }
  }
  return choices;
}

Result<Plan> Plan::load(const Library& library, void* handle,
                        const std::shared_ptr<const OperationGraph>& graph, Choice choice) {
  Descriptor plan = TRY(Descriptor::create(library, descriptor::plan, "a plan"));
  TRY(plan.set(attribute::plan_handle, type::handle, handle));
  TRY(plan.set(attribute::plan_config, choice.config));
  TRY(plan.finalize());
  std::int64_t bytes = 0;
  TRY(plan.get(attribute::plan_workspace, type::int64, 1, &bytes));
  return Plan(graph, std::move(choice), std::move(plan),
              static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 0)));
}

Error Plan::none(const Library& library, std::string_view role, const std::optional<Error>& last) {
  const std::string why = last ? last->message : library.name() + " proposes no engine";
  return Error{last ? last->kind : ErrorKind::unsupported,
               fmt::format("no plan for {}: {}", role, why)};
}

Result<Plan> Plan::choose(const Library& library, void* handle, OperationGraph made,
                          std::string_view role) {
  constexpr int modes[] = {heuristics::a, heuristics::fallback};
  const auto graph = std::make_shared<const OperationGraph>(std::move(made));
  std::optional<Error> last;
  std::vector<Choice> choices = TRY(Plan::choices(library, *graph, modes, last));
  for (const bool nondeterministic : {false, true}) {
    for (Choice& choice : choices) {
      if (choice.notes.nondeterministic != nondeterministic) continue;
      auto plan = load(library, handle, graph, std::move(choice));
      if (plan.ok()) return plan;
      last = plan.error();
    }
  }
  return none(library, role, last);
}

Result<std::vector<Plan>> Plan::all(const Library& library, void* handle, OperationGraph made,
                                    std::span<const int> modes, std::size_t most,
                                    const std::function<bool(const EngineNotes&)>& allowed,
                                    std::string_view role) {
  const auto graph = std::make_shared<const OperationGraph>(std::move(made));
  std::optional<Error> last;
  std::vector<Choice> choices = TRY(Plan::choices(library, *graph, modes, last));
  std::vector<Plan> plans;
  std::set<std::string> seen;
  for (Choice& choice : choices) {
    if (plans.size() == most) break;
    if (!allowed(choice.notes)) continue;
    if (!seen.insert(TRY(name_of(library, choice.config))).second) continue;
    auto plan = load(library, handle, graph, std::move(choice));
    if (plan.ok()) {
      plans.push_back(std::move(*plan));
    } else {
      last = plan.error();
    }
  }
  if (plans.empty()) return none(library, role, last);
  return plans;
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
  if (operands.size() > most_operands)
    return Error{ErrorKind::failed, "too many operands for cuDNN"};
  std::transform(operands.begin(), operands.end(), key.begin(),
                 [](const Operand& operand) { return operand.address; });
  key.back() = workspace;
  auto pack = packs_.find(key);
  if (pack == packs_.end()) {
    constexpr std::size_t most_packs = 256;  // callers may pass ever new addresses
    if (packs_.size() == most_packs) packs_.clear();
    pack = packs_.emplace(key, TRY(bind(library, operands, workspace))).first;
  }
  return library.check("executing a plan",
                       library.functions.execute(handle, plan_.get(), pack->second.get()));
}

}  // namespace assay::cudnn

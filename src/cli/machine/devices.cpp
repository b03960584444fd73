// assay devices: every backend with its devices and libraries, or why it is absent.
#include <fmt/format.h>

#include "cli/cli.h"
#include "cli/command.h"
#include "cli/results_view.h"
#include "compute/device/backend.h"
#include "core/json.h"
#include "core/units.h"
#include "results/record/record.h"

namespace assay::cli::devices_command {
namespace {

using Backends = std::vector<std::unique_ptr<Backend>>;

Json library_json(const LibraryFact& library) {
  Json json = {{"role", library.role}};
  if (!library.path.empty()) json["path"] = library.path;
  if (!library.version.empty()) json["version"] = library.version;
  if (!library.problem.empty()) json["problem"] = library.problem;
  return json;
}

Json backends_json(const Backends& backends) {
  Json list = Json::array();
  for (const auto& backend : backends) {
    const int score = backend->score();
    Json json = {{"backend", backend->name()}, {"score", score}};
    if (score == 0) json["absent"] = backend->absence();
    json["libraries"] = Json::array();
    for (const LibraryFact& library : backend->libraries()) {
      json["libraries"].push_back(library_json(library));
    }
    json["devices"] = Json::array();
    if (score != 0) {
      for (const DeviceFacts& facts : backend->devices()) json["devices"].push_back(to_json(facts));
    }
    list.push_back(std::move(json));
  }
  return list;
}

std::string facts_lines(const DeviceFacts& facts) {
  std::vector<std::string> parts;
  const auto add = [&](bool known, std::string text) {
    if (known) parts.push_back(std::move(text));
  };
  const bool cpu = facts.is_host_cpu();
  add(facts.multiprocessors > 0,
      fmt::format("{} {}", facts.multiprocessors, cpu ? "cores" : "multiprocessors"));
  add(facts.memory_bytes > 0, format_memory(facts.memory_bytes) + " memory");
  add(facts.last_level_cache_bytes > 0,
      format_memory(facts.last_level_cache_bytes) + " last-level cache");
  add(facts.clock_hz > 0, format_frequency(facts.clock_hz) + " highest clock");
  add(facts.ecc, "ECC");
  std::string text = fmt::format("  {}\n", fmt::join(parts, ", "));
  parts.clear();
  add(!facts.pci.empty(), "PCI " + facts.pci);
  add(!facts.uuid.empty(), facts.uuid);
  add(!cpu && facts.wave_size > 1, fmt::format("waves of {}", facts.wave_size));
  add(!cpu && facts.shared_bytes_per_block > 0,
      format_memory(facts.shared_bytes_per_block) + " shared memory per block");
  if (!parts.empty()) text += fmt::format("  {}\n", fmt::join(parts, ", "));
  return text;
}

std::string backends_text(const Backends& backends, const Style& style) {
  const Backend* best = nullptr;
  int best_score = 0;
  for (const auto& backend : backends) {
    if (backend->score() > best_score) {
      best = backend.get();
      best_score = backend->score();
    }
  }
  std::string text;
  for (const auto& backend : backends) {
    if (backend->score() == 0) {
      text += fmt::format("{} {}\n  {}\n", style.bold(backend->name()), style.yellow("absent"),
                          backend->absence());
      continue;
    }
    bool first = backend.get() == best;
    for (const DeviceFacts& facts : backend->devices()) {
      text += style.bold(device_text(facts)) + (first ? style.green("  (default)") : "") + "\n";
      text += facts_lines(facts);
      first = false;
    }
    for (const LibraryFact& library : backend->libraries()) {
      if (library.path.empty()) {
        text += fmt::format("  no {}: {}\n", library.role, library.problem);
      } else {
        text += fmt::format("  {} {} {}\n", library.role, library.version, library.path);
      }
    }
  }
  return text;
}

int run(const Arguments& arguments, Terminal& terminal) {
  const Backends backends = make_backends();
  terminal.print(arguments.has("--json")
                     ? backends_json(backends).dump(2, ' ', false, Json::error_handler_t::replace) +
                           "\n"
                     : backends_text(backends, terminal.out_style()));
  return exit_ok;
}

const Command command = {
    .name = "devices",
    .summary = "Show every backend's devices and libraries, or why it is absent",
    .group = CommandGroup::diagnose,
    .positionals = "",
    .details =
        R"(The default device is device 0 of the backend marked (default); --device of `assay run` takes
any other, e.g. cuda:1 or cpu.
)",
    .options = {},
    .run = &run,
};
const CommandRegistry::Add registered{&command};

}  // namespace
}  // namespace assay::cli::devices_command

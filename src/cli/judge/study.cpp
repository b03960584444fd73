#include "cli/judge/study.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <sstream>
#include <thread>

#include "cli/judge/environment_words.h"
#include "compute/device/backend.h"
#include "core/embedded.h"
#include "core/program.h"
#include "core/yaml_text.h"
#include "machine/system/machine.h"
#include "machine/system/nic.h"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;

/// The name of the campaign of an undivided GPU, with which the study of its partitions compares
/// their sum.
constexpr const char* whole_name = "partition-whole";

/// A study while it is made: the plan's environments, one a line, and what else it needs.
struct Draft {
  std::vector<std::string> environments;
  std::string study;  ///< the plan's key of that name; empty: none
  std::vector<std::string> notes;
  std::string folder;  ///< its last part
  /// The plan's description and its subject, if those of the example do not fit.
  std::optional<std::string> description, subject;
};

/// "campaigns/scaling-4-ranks": the same request continues the same campaign.
std::string folder_of(std::string name, const StudyRequest& request) {
  for (const std::string& word : request.operands) name += "-" + word;
  for (const std::string& axis : request.axes) name += "-" + axis;
  if (request.ranks > 0) name += fmt::format("-{}-ranks", request.ranks);
  return "campaigns/" + plain_name(name);
}

std::string text_of_example(std::string_view name) {
  for (const EmbeddedFile& file : embedded_plans()) {
    if (file.name == fmt::format("{}.yaml", name)) return std::string(file.text);
  }
  return {};
}

std::string line_of(const std::string& name, const std::string& settings, const PlannedLoad& load) {
  return fmt::format("{{name: {}, {}{}}}", name, settings,
                     load.servers.empty() ? "" : ", " + load.servers);
}

Error wrong_operands(const StudyRequest& request, std::string_view what) {
  return {ErrorKind::usage, fmt::format("campaign {}: {}", request.name, what)};
}

/// The image that has the vendor's libraries; one without them is smaller.
std::string usual_image(const StudyMachine& machine) {
  if (machine.gpus.empty()) return "ubuntu:24.04";
  return machine.gpus.front().is_amd() ? "rocm/dev-ubuntu-22.04:6.4-complete"
                                       : "nvidia/cuda:12.6.3-devel-ubuntu24.04";
}

/// Chooses the first engine that works here.
Result<std::string> usual_container(const StudyMachine& machine, Draft& draft) {
  std::vector<std::string> problems;
  for (const char* engine : {"docker", "podman"}) {
    const std::string problem = machine.problem_of_engine(engine);
    if (!problem.empty()) {
      problems.push_back(problem);
      continue;
    }
    draft.notes.push_back(fmt::format(
        "container: {} with {}; `assay campaign container {}:IMAGE` takes another image", engine,
        usual_image(machine), engine));
    return fmt::format("{}:{}", engine, usual_image(machine));
  }
  const std::string problem = machine.problem_of_engine("bwrap");
  if (!problem.empty()) {
    problems.push_back(problem);
    return Error{ErrorKind::unavailable,
                 fmt::format("campaign container: {}; install one of them, or name another "
                             "engine: assay campaign container apptainer:IMAGE",
                             fmt::join(problems, "; "))};
  }
  draft.notes.push_back(
      fmt::format("container: bubblewrap, this machine's own files in namespaces of their own; {}",
                  fmt::join(problems, "; ")));
  return std::string("bubblewrap");
}

/// A machine may be named without "vm:".
Result<EnvironmentWord> machine_or_environment(const std::string& word) {
  const bool is_target = word != "host" && word.find(':') == std::string::npos;
  return read_environment_word(is_target ? "vm:" + word : word);
}

/// Adds the host and, to be compared with it, the environments that `words` name by `read`.
Status add_beside_host(const StudyRequest& request, const std::vector<std::string>& words,
                       Result<EnvironmentWord> (*read)(const std::string&), Draft& draft) {
  draft.environments.push_back(line_of("host", "kind: host", request.load));
  std::map<std::string, int> uses = {{"host", 1}};
  for (const std::string& word : words) {
    const EnvironmentWord environment = TRY(read(word));
    draft.environments.push_back(
        line_of(unique_name(environment.kind, uses), environment.settings, request.load));
  }
  if (words.size() > 1) draft.subject = "";  // each has its own name
  return {};
}

Status add_container(const StudyRequest& request, const StudyMachine& machine, Draft& draft) {
  std::vector<std::string> words = request.operands;
  if (words.empty()) words.push_back(TRY(usual_container(machine, draft)));
  return add_beside_host(request, words, &read_environment_word, draft);
}

Status add_vm(const StudyRequest& request, const StudyMachine&, Draft& draft) {
  if (request.operands.empty()) {
    return wrong_operands(request,
                          "name the virtual machine, which ssh must reach without a password: "
                          "assay campaign vm root@vm7");
  }
  return add_beside_host(request, request.operands, &machine_or_environment, draft);
}

Status add_node(const StudyRequest& request, const StudyMachine&, Draft& draft) {
  if (request.operands.empty() || request.operands.size() > 2) {
    return wrong_operands(request,
                          "name the node and, unless it is this machine, its baseline: assay "
                          "campaign node root@node7 root@node3");
  }
  const std::string baseline = request.operands.size() == 2 ? request.operands[1] : "host";
  draft.environments = {
      line_of("baseline", TRY(machine_or_environment(baseline)).settings, request.load),
      line_of("node", TRY(machine_or_environment(request.operands[0])).settings, request.load)};
  draft.subject = fmt::format("The node {}", request.operands[0]);
  return {};
}

/// An environment, or a folder with a build's libraries.
Result<std::string> settings_of_build(const StudyRequest& request, const std::string& word) {
  std::error_code none;
  if (word.find('/') == std::string::npos || word.find(':') != std::string::npos) {
    return TRY(read_environment_word(word)).settings;
  }
  const fs::path folder = fs::absolute(word, none);
  if (!fs::is_directory(folder / "lib", none)) {
    return wrong_operands(request, fmt::format("there is no folder {}/lib; a build is a folder "
                                               "with its libraries in lib, or an environment such "
                                               "as docker:IMAGE",
                                               word));
  }
  return fmt::format("kind: host, variables: {{BUILD: {}, LD_LIBRARY_PATH: {}}}",
                     yaml_scalar(folder.string()), yaml_scalar((folder / "lib").string()));
}

Status add_upgrade(const StudyRequest& request, const StudyMachine&, Draft& draft) {
  if (request.operands.size() != 2) {
    return wrong_operands(request,
                          "name the old and the new build: assay campaign upgrade "
                          "/opt/rocm-6.4.0 /opt/rocm-7.0.0, or docker:IMAGE:OLD docker:IMAGE:NEW");
  }
  constexpr std::array<const char*, 2> names = {"old", "new"};
  for (std::size_t i = 0; i < names.size(); ++i) {
    draft.environments.push_back(
        line_of(names[i], TRY(settings_of_build(request, request.operands[i])), request.load));
  }
  return {};
}

Status add_scaling(const StudyRequest& request, const StudyMachine&, Draft& draft) {
  if (!request.operands.empty()) {
    return wrong_operands(request, fmt::format("\"{}\" is not allowed; --ranks N is the only "
                                               "choice, and AXIS=VALUE of train",
                                               request.operands.front()));
  }
  draft.environments.push_back(line_of("host", "kind: host", request.load));
  return {};
}

/// The whole device, to be compared with its partitions later.
void add_whole(const StudyRequest& request, const DeviceFacts& gpu, Draft& draft) {
  draft.environments.push_back(line_of("whole", "kind: partition, visible: \"0\"", request.load));
  draft.folder = whole_name;
  draft.description = "What does the whole GPU deliver?";
  draft.notes.push_back(fmt::format(
      "the GPU is not divided ({}), so it is measured whole; divide it ({}), and the same command "
      "measures its partitions and compares their sum with this",
      gpu.partition.empty() ? "it has no partitions" : gpu.partition,
      gpu.is_amd() ? "amd-smi set --gpu all --compute-partition CPX" : "nvidia-smi mig"));
}

Status add_partition(const StudyRequest& request, const StudyMachine& machine, Draft& draft) {
  std::vector<std::string> settings;
  for (const std::string& word : request.operands) {
    const bool of_cpus = word.starts_with("cpus:");
    settings.push_back(fmt::format("kind: partition, {}: {}", of_cpus ? "cpus" : "visible",
                                   yaml_scalar(of_cpus ? word.substr(5) : word)));
  }
  if (settings.empty()) {
    if (machine.gpus.empty()) {
      return Error{ErrorKind::unavailable,
                   "campaign partition: this machine has no GPU; parts of its CPU can be "
                   "studied: assay campaign partition cpus:0 cpus:1"};
    }
    const std::string& first = machine.gpus.front().pci;
    const auto parts = static_cast<std::size_t>(std::ranges::count_if(
        machine.gpus, [&](const DeviceFacts& gpu) { return gpu.pci == first; }));
    if (parts < 2) {
      add_whole(request, machine.gpus.front(), draft);
      return {};
    }
    for (std::size_t i = 0; i < parts; ++i) {
      settings.push_back(fmt::format("kind: partition, visible: \"{}\"", i));
    }
  } else if (settings.size() < 2) {
    return wrong_operands(request, "name at least two partitions: assay campaign partition 0 1");
  }
  std::vector<std::string> names;
  for (const std::string& one : settings) {
    names.push_back(fmt::format("p{}", names.size()));
    draft.environments.push_back(line_of(names.back(), one, request.load));
  }
  draft.study = fmt::format("each: [{}]", fmt::join(names, ", "));
  std::error_code none;
  const fs::path whole = fs::absolute(fs::path(folder_of(whole_name, request)) / "whole", none);
  if (request.operands.empty() && fs::exists(whole, none)) {
    draft.study += fmt::format(", whole: {}", yaml_scalar(whole.string()));
  } else if (request.operands.empty()) {
    draft.notes.push_back(
        "the whole GPU was not measured here: the same command does it while the GPU is not "
        "divided, and compares the sum of its partitions with it");
  }
  return {};
}

/// Returns why this machine lacks what a line of the plan needs; empty if it does not.
std::string lack_of(std::string_view need, const StudyRequest& request,
                    const StudyMachine& machine) {
  const bool emulated = !machine.gpus.empty() && machine.gpus.front().emulated;
  if (need == "several GPUs") {
    if (machine.gpus.size() > 1 || request.ranks > 1) return {};
    return fmt::format("this machine has {}; --ranks 2 measures them between processes",
                       machine.gpus.empty() ? "no GPU" : "a single GPU");
  }
  if (need == "a GPU") return machine.gpus.empty() ? "this machine has no GPU" : "";
  if (need == "real hardware") {
    return emulated ? "the GPU is emulated, which takes minutes for one pass of a model" : "";
  }
  return machine.has_adapter ? "" : "there is no active port in /sys/class/infiniband";
}

std::uint64_t ranks_of(const StudyRequest& request, const StudyMachine& machine) {
  if (request.ranks > 0) return request.ranks;
  if (machine.gpus.size() > 1) return machine.gpus.size();
  constexpr std::size_t most_by_default = 4;
  return std::clamp<std::size_t>(machine.cpus, 2, most_by_default);
}

void replace(std::string& text, std::string_view old, std::string_view by) {
  const std::size_t at = text.find(old);
  if (at != std::string::npos) text.replace(at, old.size(), by);
}

/// Returns a line of the example as this machine needs it. A line that ends in "# TITLE, needs
/// THING" becomes a comment where the thing is missing.
std::string adapted(std::string line, const StudyRequest& request, const StudyMachine& machine,
                    Draft& draft) {
  const auto is_key = [&](std::string_view key) { return line.starts_with(key); };
  if (draft.description && is_key("description:")) return "description: " + *draft.description;
  if (draft.subject && is_key("subject:")) {
    return draft.subject->empty() ? "" : "subject: " + yaml_scalar(*draft.subject);
  }
  if (is_key("budget:") && !request.budget.empty()) return "budget: " + yaml_scalar(request.budget);
  if (is_key("budget:") && starts_servers(request.load)) {
    return fmt::format("budget: {}", budget_with_servers);
  }
  const std::string ranks = fmt::format("{}", ranks_of(request, machine));
  if (is_key("ranks:")) return "ranks: " + ranks;
  constexpr std::string_view mark = ", needs ";
  const std::size_t comment = line.rfind("   # "), needs = line.rfind(mark);
  if (comment == std::string::npos || needs == std::string::npos || needs < comment) return line;
  const std::string title = line.substr(comment + 5, needs - comment - 5);
  const std::string lack = lack_of(line.substr(needs + mark.size()), request, machine);
  if (!lack.empty()) {
    draft.notes.push_back(fmt::format("left out: {}: {}", title, lack));
    return fmt::format("  # left out: {}: {}", title, lack);
  }
  replace(line, "--ranks, \"8\"", fmt::format("--ranks, \"{}\"", ranks));
  return line;
}

/// Adds AXIS=VALUE to the plan's own, which they replace.
std::string axes_text(const std::string& line, const std::vector<std::string>& axes) {
  std::string text = line;
  if (text.empty()) return fmt::format("axes: {{{}}}\n", fmt::join(axes, ", "));
  for (const std::string& axis : axes) {
    const std::string name = axis.substr(0, axis.find(':'));
    const std::size_t at = text.find(name + ": ");
    if (at == std::string::npos) {
      text.insert(text.rfind('}'), ", " + axis);
      continue;
    }
    const std::size_t value = at + name.size() + 2;
    const std::size_t end =
        text[value] == '[' ? text.find(']', value) + 1 : text.find_first_of(",}", value);
    text.replace(at, end - at, axis);
  }
  return text + "\n";
}

std::string plan_of(const StudyRequest& request, const StudyMachine& machine, Draft& draft) {
  std::string text = study_mark(request.name);
  std::vector<std::string> axes;
  for (const std::string& axis : request.axes) {
    const std::size_t equals = axis.find('=');
    axes.push_back(
        fmt::format("{}: {}", axis.substr(0, equals), yaml_scalar(axis.substr(equals + 1))));
  }
  std::istringstream lines(text_of_example(request.name));
  bool has_axes = axes.empty();
  std::size_t cells = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('#')) continue;  // it describes the example
    if (line.starts_with("environments:")) break;
    if (line == "cells:") continue;  // written before the first one that is kept
    if (line.starts_with("axes:") && !has_axes) {
      text += axes_text(line, axes);
      has_axes = true;
      continue;
    }
    const std::string kept = adapted(line, request, machine, draft);
    if (!kept.empty()) text += kept + "\n";
    const bool is_cell = kept.starts_with("  - ");
    if (is_cell && cells == 0) text.insert(text.size() - kept.size() - 1, "cells:\n");
    cells += is_cell ? 1 : 0;
  }
  if (!has_axes) text += axes_text("", axes);
  if (!request.device.empty()) text += fmt::format("device: {}\n", yaml_scalar(request.device));
  text += request.load.load;
  text += "environments:                # the first one is the baseline\n";
  for (const std::string& environment : draft.environments) text += "  - " + environment + "\n";
  if (!draft.study.empty()) text += fmt::format("study: {{{}}}\n", draft.study);
  return text;
}

struct StudyKind {
  std::string_view name;
  Status (*add)(const StudyRequest&, const StudyMachine&, Draft&);
};
constexpr std::array<StudyKind, 6> kinds = {{{"container", &add_container},
                                             {"node", &add_node},
                                             {"partition", &add_partition},
                                             {"scaling", &add_scaling},
                                             {"upgrade", &add_upgrade},
                                             {"vm", &add_vm}}};

}  // namespace

std::string study_names() {
  std::string names;
  for (const StudyKind& kind : kinds)
    names += fmt::format("{}{}", names.empty() ? "" : " ", kind.name);
  return names;
}

bool is_study(std::string_view word) {
  return std::ranges::find(kinds, word, &StudyKind::name) != kinds.end();
}

std::string study_mark(std::string_view name) {
  return fmt::format("# assay campaign {}\n", name);
}

StudyMachine study_machine() {
  StudyMachine machine;
  for (const auto& backend : make_backends()) {
    if (backend->score() <= 0) continue;
    for (DeviceFacts& facts : backend->devices()) {
      if (!facts.is_host_cpu()) machine.gpus.push_back(std::move(facts));
    }
  }
  machine.has_adapter = std::ranges::any_of(read_nics(this_machine()), &Nic::active);
  machine.cpus = std::max(1u, std::thread::hardware_concurrency());
  machine.problem_of_engine = [](const std::string& program) -> std::string {
    if (!find_program(program)) return fmt::format("{} is not installed", program);
    if (program == "bwrap") return {};
    ProgramStart start;
    start.words = {program, "version"};
    start.timeout_seconds = 10;
    const auto end = run_program(start);
    if (end.ok() && end->status == 0) return {};
    return fmt::format("{} does not work here: {}", program,
                       end.ok() ? last_line(end->errors_tail) : end.error().message);
  };
  return machine;
}

Result<Study> make_study(const StudyRequest& request, const StudyMachine& machine) {
  const auto kind = std::ranges::find(kinds, request.name, &StudyKind::name);
  if (kind == kinds.end()) {
    return Error{ErrorKind::usage,
                 fmt::format("no study \"{}\"; allowed: {}", request.name, study_names())};
  }
  Draft draft;
  TRY(kind->add(request, machine, draft));
  Study study;
  study.plan = plan_of(request, machine, draft);
  study.folder = folder_of(draft.folder.empty() ? request.name : draft.folder, request);
  study.notes = std::move(draft.notes);
  return study;
}

}  // namespace assay::cli

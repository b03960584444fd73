#include "ranks/environments/kinds/container.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>

#include "core/program.h"
#include "core/shown_text.h"
#include "core/suggest.h"
#include "core/text.h"
#include "machine/system/affinity.h"
#include "ranks/environments/c_library.h"

namespace assay {
namespace {

constexpr std::size_t most_message = 500;  // bytes of an engine's message

struct Engine {
  std::string name;
  const char* program;
  Result<Launch> (*launch)(const ContainerSettings&, const LaunchContext&, const std::string&,
                           const std::vector<std::string>&);
  const char* binary;  ///< path of assay inside the container
  bool needs_image;
  /// A command that fails at once if the engine's daemon cannot be used; empty if there is no
  /// daemon.
  std::vector<std::string> question = {};
};

const std::vector<Engine>& engines() {
  static const std::vector<Engine> all = {
      {"docker",
       "docker",
       &launch_docker,
       binary_in_container,
       true,
       {"docker", "version", "--format", "{{.Server.Version}}"}},
      {"podman", "podman", &launch_docker, binary_in_container, true},
      {"apptainer", "apptainer", &launch_apptainer, binary_in_container, true},
      {"bubblewrap", "bwrap", &launch_bubblewrap, binary_in_bubblewrap, false}};
  return all;
}

/// Error: unavailable, if the engine's daemon does not answer.
Status ask(const Engine& engine, const std::string& environment) {
  if (engine.question.empty()) return {};
  constexpr double patience = 8;  // seconds
  ProgramStart start;
  start.words = engine.question;
  start.timeout_seconds = patience;
  const ProgramEnd end = TRY(run_program(start));
  if (end.status == 0) return {};
  const std::string told = shown_line(last_line(end.errors_tail), most_message);
  return Error{
      ErrorKind::unavailable,
      fmt::format("environment {}: {} cannot start containers: {}", environment, engine.name,
                  end.timed_out ? fmt::format("its daemon is silent for {:g} s", patience) : told)};
}

class Container final : public Environment {
 public:
  ContainerSettings settings;
  const Engine* engine = nullptr;

  Status prepare(const LaunchContext& context) const override {
    TRY(check_program(context.environment, engine->program, engine->name));
    TRY(ask(*engine, context.environment));
    // The engine would otherwise create a missing folder owned by root.
    std::error_code ignored;
    if (!context.cache.empty()) std::filesystem::create_directories(context.cache, ignored);
    return check_place(*this, context);
  }

  Result<Launch> look(std::string_view script, const LaunchContext& context) const override {
    if (settings.image == "/") return Launch();  // the image is this machine's own root
    return engine->launch(settings, context, "sh", {"-c", std::string(script)});
  }

  Result<Launch> launch(const std::vector<std::string>& arguments,
                        const LaunchContext& context) const override {
    return engine->launch(settings, context, engine->binary, arguments);
  }
};

/// Returns whether `text` is numbers between commas, as "0,1", and none is there twice.
bool are_indices(std::string_view text) {
  std::set<std::uint64_t> indices;
  while (true) {
    const std::size_t comma = text.find(',');
    const auto index = parse_count(text.substr(0, comma));
    if (!index || !indices.insert(*index).second) return false;
    if (comma == std::string_view::npos) return true;
    text.remove_prefix(comma + 1);
  }
}

Result<std::unique_ptr<Environment>> read(const YamlReader& reader, std::string_view) {
  auto container = std::make_unique<Container>();
  ContainerSettings& settings = container->settings;
  settings.engine = TRY(reader.text("engine"));
  std::vector<std::string> names;
  for (const Engine& engine : engines()) {
    names.push_back(engine.name);
    if (engine.name == settings.engine) container->engine = &engine;
  }
  if (container->engine == nullptr) {
    return reader.wrong("engine",
                        fmt::format("unknown engine \"{}\"{}; allowed: {}", settings.engine,
                                    did_you_mean(settings.engine, names), fmt::join(names, ", ")));
  }
  TRY(reader.optional("image", settings.image));
  if (settings.image.empty()) {
    if (container->engine->needs_image) settings.image = TRY(reader.text("image"));
    if (!container->engine->needs_image) settings.image = "/";
  }
  TRY(reader.optional("gpus", settings.gpus));
  settings.limits = TRY(read_limits(reader));
  TRY(reader.optional("variables", settings.variables));
  TRY(reader.optional("volumes", settings.volumes));
  TRY(reader.optional("options", settings.options));
  const std::vector<std::string> words = {"auto", "none", "amd", "nvidia"};
  if (!are_indices(settings.gpus) &&
      std::find(words.begin(), words.end(), settings.gpus) == words.end()) {
    return reader.wrong("gpus", fmt::format("\"gpus\" must be auto, none, amd, nvidia or indices, "
                                            "each once (0,1), not \"{}\"",
                                            settings.gpus));
  }
  return std::unique_ptr<Environment>(std::move(container));
}

const EnvironmentKindRegistry::Add registered{
    {"container",
     "engine: docker, podman, apptainer or bubblewrap; assay itself is mounted into the image",
     {"engine", "image", "gpus", "cpus", "cpu_quota", "memory", "variables", "volumes", "options"},
     &read}};

}  // namespace

Result<ContainerGpus> container_gpus(const ContainerSettings& settings,
                                     const LaunchContext& context) {
  ContainerGpus gpus;
  if (settings.gpus == "none") return gpus;
  if (settings.gpus == "amd" || settings.gpus == "nvidia") {
    gpus.amd = settings.gpus == "amd";
    gpus.nvidia = !gpus.amd;
    return gpus;
  }
  if (!context.gpus) {
    return Error{ErrorKind::usage,
                 fmt::format("environment {}: gpus: {} cannot be resolved on another machine; use "
                             "amd, nvidia or none",
                             context.environment, settings.gpus)};
  }
  gpus.amd = context.gpus->amd;
  gpus.nvidia = context.gpus->nvidia;
  if (settings.gpus == "auto") return gpus;
  if (gpus.amd == gpus.nvidia) {
    return Error{ErrorKind::usage,
                 fmt::format("environment {}: gpus: {} needs a machine with GPUs of one vendor; "
                             "this one has {}",
                             context.environment, settings.gpus, gpus.amd ? "both" : "none")};
  }
  std::string_view rest = settings.gpus;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    if (comma != 0) gpus.indices.emplace_back(rest.substr(0, comma));
    rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
  }
  return gpus;
}

void add_limits(const ResourceLimits& limits, std::vector<std::string>& words) {
  if (!limits.cpus.empty()) words.push_back("--cpuset-cpus=" + cpu_list(limits.cpus));
  if (limits.cpu_quota) words.push_back(fmt::format("--cpus={}", *limits.cpu_quota));
  // Without a unit, all three take the number as bytes.
  if (limits.memory_bytes) words.push_back(fmt::format("--memory={}", *limits.memory_bytes));
}

}  // namespace assay

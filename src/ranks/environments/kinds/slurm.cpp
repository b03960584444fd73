// A Slurm job step; the records of task 0 are used.
#include <fmt/format.h>

#include "ranks/environments/environment.h"

namespace assay::slurm_environment {
namespace {

class Slurm final : public Environment {
 public:
  std::uint64_t nodes = 1, tasks = 1;
  std::string queue, nodelist, gpus, binary;
  bool broadcast = false;
  std::vector<std::string> options;
  std::vector<std::pair<std::string, std::string>> variables;

  Result<Launch> launch(const std::vector<std::string>& arguments,
                        const LaunchContext& context) const override {
    Launch launch;
    launch.words = {"srun", fmt::format("--nodes={}", nodes), fmt::format("--ntasks={}", tasks),
                    fmt::format("--job-name={}", context.unit)};
    if (!queue.empty()) launch.words.push_back("--partition=" + queue);
    if (!nodelist.empty()) launch.words.push_back("--nodelist=" + nodelist);
    if (!gpus.empty()) launch.words.push_back("--gpus=" + gpus);
    std::string path = binary.empty() ? context.binary : binary;
    if (broadcast) launch.words.push_back(fmt::format("--bcast=/tmp/{}", context.unit));
    launch.words.insert(launch.words.end(), options.begin(), options.end());
    // srun passes this process's variables to the job.
    launch.variables = variables;
    launch.needs_token = tasks > 1;
    launch.words.push_back(std::move(path));
    launch.words.insert(launch.words.end(), arguments.begin(), arguments.end());
    return launch;
  }
};

Result<std::unique_ptr<Environment>> read(const YamlReader& settings, std::string_view) {
  constexpr std::uint64_t most = 1'000'000;
  auto slurm = std::make_unique<Slurm>();
  TRY(settings.count("nodes", 1, most, slurm->nodes));
  TRY(settings.count("tasks", 1, most, slurm->tasks));
  TRY(settings.optional("partition", slurm->queue));
  TRY(settings.optional("nodelist", slurm->nodelist));
  TRY(settings.optional("gpus", slurm->gpus));
  TRY(settings.optional("binary", slurm->binary));
  TRY(settings.flag("broadcast", slurm->broadcast));
  TRY(settings.optional("options", slurm->options));
  TRY(settings.optional("variables", slurm->variables));
  return std::unique_ptr<Environment>(std::move(slurm));
}

const EnvironmentKindRegistry::Add registered{
    {"slurm",
     "srun: nodes, tasks, partition, gpus; the records of task 0 are used",
     {"nodes", "tasks", "partition", "nodelist", "gpus", "binary", "broadcast", "options",
      "variables"},
     &read}};

}  // namespace
}  // namespace assay::slurm_environment

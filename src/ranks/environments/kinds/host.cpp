// This machine as it is, or with a CPU set, a CPU quota, a memory limit, other variables.
#include "ranks/environments/environment.h"

namespace assay::host_environment {
namespace {

class Host final : public Environment {
 public:
  ResourceLimits limits;
  std::vector<std::pair<std::string, std::string>> variables;

  Result<Launch> launch(const std::vector<std::string>& arguments,
                        const LaunchContext& context) const override {
    Launch launch;
    launch.words = {context.binary};
    launch.words.insert(launch.words.end(), arguments.begin(), arguments.end());
    launch.variables = variables;
    launch.limits = limits;
    return launch;
  }
};

Result<std::unique_ptr<Environment>> read(const YamlReader& settings, std::string_view) {
  auto host = std::make_unique<Host>();
  host->limits = TRY(read_limits(settings));
  TRY(settings.optional("variables", host->variables));
  return std::unique_ptr<Environment>(std::move(host));
}

const EnvironmentKindRegistry::Add registered{
    {"host",
     "this machine, with its own CPUs, CPU quota, memory limit and variables",
     {"cpus", "cpu_quota", "memory", "variables"},
     &read}};

}  // namespace
}  // namespace assay::host_environment

// Any program that starts another one given as its arguments: taskset, numactl, chroot, a script.
#include "ranks/environments/environment.h"

namespace assay::command_environment {
namespace {

class Prefix final : public Environment {
 public:
  std::vector<std::string> prefix;
  std::vector<std::pair<std::string, std::string>> variables;
  std::string binary;

  Result<Launch> launch(const std::vector<std::string>& arguments,
                        const LaunchContext& context) const override {
    Launch launch;
    launch.words = prefix;
    launch.words.push_back(binary.empty() ? context.binary : binary);
    launch.words.insert(launch.words.end(), arguments.begin(), arguments.end());
    launch.variables = variables;
    return launch;
  }
};

Result<std::unique_ptr<Environment>> read(const YamlReader& settings, std::string_view) {
  auto command = std::make_unique<Prefix>();
  command->prefix = TRY(settings.texts("prefix"));
  TRY(settings.optional("variables", command->variables));
  TRY(settings.optional("binary", command->binary));
  return std::unique_ptr<Environment>(std::move(command));
}

const EnvironmentKindRegistry::Add registered{
    {"command",
     "behind any program that starts another: prefix: [numactl, -N, 0]",
     {"prefix", "variables", "binary"},
     &read}};

}  // namespace
}  // namespace assay::command_environment

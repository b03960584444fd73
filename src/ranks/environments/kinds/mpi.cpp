// One process on every rank of an MPI job; the records of rank 0 are used.
#include <fmt/format.h>

#include "ranks/environments/environment.h"

namespace assay::mpi_environment {
namespace {

class Mpi final : public Environment {
 public:
  std::string launcher = "mpirun", hostfile, binary;
  std::uint64_t ranks = 1;
  std::vector<std::string> options;
  std::vector<std::pair<std::string, std::string>> variables;

  Result<Launch> launch(const std::vector<std::string>& arguments,
                        const LaunchContext& context) const override {
    Launch launch;
    launch.words = {launcher, "-n", fmt::format("{}", ranks)};
    if (!hostfile.empty()) launch.words.insert(launch.words.end(), {"--hostfile", hostfile});
    launch.words.insert(launch.words.end(), options.begin(), options.end());
    // Every MPI has its own option for variables; `env` works with all of them.
    std::vector<std::string> words = {binary.empty() ? context.binary : binary};
    words.insert(words.end(), arguments.begin(), arguments.end());
    for (std::string& word : with_variables(variables, std::move(words))) {
      launch.words.push_back(std::move(word));
    }
    return launch;
  }
};

Result<std::unique_ptr<Environment>> read(const YamlReader& settings, std::string_view) {
  constexpr std::uint64_t most_ranks = 1'000'000;
  auto mpi = std::make_unique<Mpi>();
  TRY(settings.optional("launcher", mpi->launcher));
  TRY(settings.optional("hostfile", mpi->hostfile));
  TRY(settings.optional("options", mpi->options));
  TRY(settings.optional("variables", mpi->variables));
  TRY(settings.optional("binary", mpi->binary));
  TRY(settings.count("ranks", 1, most_ranks, mpi->ranks));
  return std::unique_ptr<Environment>(std::move(mpi));
}

const EnvironmentKindRegistry::Add registered{
    {"mpi",
     "mpirun: ranks, hostfile, options; the records of rank 0 are used",
     {"launcher", "ranks", "hostfile", "options", "variables", "binary"},
     &read}};

}  // namespace
}  // namespace assay::mpi_environment

// How often a search of `assay tune` finds what is planted: bench_search_rates [SEARCHES]
#include <cstdio>
#include <cstdlib>

#include "simulated_tuning.h"
#include "tune/search.h"

using namespace assay;

int main(int count, char** words) {
  const int searches = count > 1 ? std::atoi(words[1]) : 100;
  const ParameterSpace space = simulated_parameters();
  std::printf("%zu settings, noise 2%%, crashes and hangs; found: within 1%% of the best\n\n",
              space.size());
  std::printf("%6s %10s %10s %6s %10s\n", "runs", "steepness", "roughness", "found", "mean loss");
  for (const std::size_t runs : {100u, 200u, 400u}) {
    for (const double steepness : {0.005, 0.02}) {
      for (const double roughness : {0.0, 0.01, 0.04}) {
        int found = 0;
        double loss = 0;
        for (int i = 0; i < searches; ++i) {
          const auto seed = static_cast<std::uint64_t>(i);
          SimulatedProgram program(space, {.steepness = steepness, .roughness = roughness}, seed);
          const auto result =
              search_settings(space, {.runs = runs}, seed, [&](std::size_t setting, std::size_t) {
                return Result<std::optional<double>>(program.run(setting));
              });
          const double lost = result.ok() ? -program.speed(result->finalists.front().contender) : 1;
          loss += lost / searches;
          if (lost <= 0.01) ++found;
        }
        std::printf("%6zu %9.1f%% %9.1f%% %6d %9.2f%%\n", runs, 100 * steepness, 100 * roughness,
                    found, 100 * loss);
        std::fflush(stdout);
      }
    }
  }
}

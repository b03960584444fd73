// How often `assay tune command` is right: bench_search_rates [SEARCHES]
//   a search finds what is planted, with several budgets and kinds of programs
//   the proof says so where no setting is better
#include <cstdio>
#include <cstdlib>

#include "advise/tune/proof.h"
#include "advise/tune/tuning.h"
#include "support/simulated_tuning.h"

using namespace assay;

namespace {

Result<SettingsFound> find(const ParameterSpace& space, SimulatedProgram& program, std::size_t runs,
                           std::uint64_t seed) {
  return search_settings(space, {.runs = runs}, seed, [&](std::size_t setting, std::size_t) {
    return Result<std::optional<double>>(program.run(setting));
  });
}

void print_rates_of_finding(const ParameterSpace& space, int searches) {
  std::printf("found: within 1%% of the best\n%6s %10s %10s %6s %10s\n", "runs", "steepness",
              "roughness", "found", "mean loss");
  for (const std::size_t runs : {100u, 200u, 400u}) {
    for (const double steepness : {0.005, 0.02}) {
      for (const double roughness : {0.01, 0.04}) {
        int found = 0;
        double loss = 0;
        for (int i = 0; i < searches; ++i) {
          const auto seed = static_cast<std::uint64_t>(i);
          SimulatedProgram program(space, {.steepness = steepness, .roughness = roughness}, seed);
          const auto result = find(space, program, runs, seed);
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

/// The whole of a tuning where all settings have the same speed.
void print_rates_of_none(const ParameterSpace& space, int searches) {
  int none = 0, open = 0, better = 0;
  for (int i = 0; i < searches; ++i) {
    const auto seed = static_cast<std::uint64_t>(i);
    SimulatedProgram program(space, {.alike = true}, seed);
    const auto result = find(space, program, 200, seed);
    if (!result.ok()) continue;
    const TuningResult tuned = {.found = *result};
    const std::size_t challenger = *tuned.challenger(space.usual());
    std::vector<ScorePair> pairs;
    while (pairs.size() < 60 && !(pairs.size() >= 10 && precise_enough(pairs))) {
      pairs.push_back({*program.run(space.usual()), *program.run(challenger)});
    }
    const Proof proof = prove(pairs);
    const bool says_none = !proof.better && (proof.worse || proof.verdict == Verdict::equal);
    none += says_none ? 1 : 0;
    better += proof.better ? 1 : 0;
    open += !says_none && !proof.better ? 1 : 0;
  }
  std::printf(
      "\nall settings alike, %d tunings: %d say that none is better, %d leave it open, %d call "
      "one better\n",
      searches, none, open, better);
}

}  // namespace

int main(int count, char** words) {
  const int searches = count > 1 ? std::atoi(words[1]) : 100;
  const ParameterSpace space = simulated_parameters();
  std::printf("%zu settings, noise 2%%, crashes and hangs; %d searches each\n", space.size(),
              searches);
  print_rates_of_none(space, searches);
  print_rates_of_finding(space, searches);
}

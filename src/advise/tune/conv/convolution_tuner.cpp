#include "advise/tune/conv/convolution_tuner.h"

#include <fmt/format.h>

#include <chrono>

#include "advise/tune/proof.h"
#include "core/json.h"

namespace assay {
namespace {

/// Calls `take`, sets `seconds` to its duration and returns its result.
template <typename Take>
auto timed(const Take& take, double& seconds) {
  const auto began = std::chrono::steady_clock::now();
  auto result = take();
  seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  return result;
}

/// Searches one convolution. A failure becomes the step's reason. Error: interrupted.
Result<ConvolutionSearchStep> search_for(const ConvolutionProblem& problem,
                                         const RunConvolutions& run) {
  ConvolutionSearchStep step;
  step.problem = describe(problem);
  const auto measured = timed(
      [&] {
        return run(ConvolutionRole::search, {&problem, 1});
      },
      step.spent_seconds);
  if (!measured.ok()) {
    if (measured.error().kind == ErrorKind::interrupted) return measured.error();
    step.found.reason = measured.error().message;
  } else if (const auto found = measured->find(step.problem); found != measured->end()) {
    step.found = found->second;
  } else {
    step.found.reason = "its search left no result";
  }
  return step;
}

}  // namespace

Result<ConvolutionSteps> convolution_steps(const std::filesystem::path& folder,
                                           const std::vector<Json>& steps) {
  ConvolutionSteps all;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Status added = add_step(all, steps[i]);
    if (!added.ok()) return TuningJournal::about_step(folder, i, added.error());
  }
  return all;
}

Result<ConvolutionSteps> tune_convolutions(const std::filesystem::path& folder,
                                           TuningJournal& journal,
                                           const std::vector<CountedConvolution>& convolutions,
                                           std::size_t pairs, const RunConvolutions& run,
                                           TuningWitness& witness) {
  ConvolutionSteps steps = TRY(convolution_steps(folder, journal.steps()));
  witness.begins(ConvolutionRole::search, convolutions.size());
  std::vector<ConvolutionProblem> found;
  for (const CountedConvolution& convolution : convolutions) {
    const std::string name = describe(convolution.problem);
    auto at = steps.searches.find(name);
    if (at != steps.searches.end()) {
      witness.known();
    } else {
      witness.doing(name);
      const ConvolutionSearchStep step = TRY(search_for(convolution.problem, run));
      TRY(journal.append(to_json(step)));
      witness.done(name, step.spent_seconds,
                   !step.found.seconds ? step.found.reason
                   : step.found.first  ? "the library's own choice is the fastest"
                                       : "tuned");
      at = steps.searches.emplace(name, step).first;
    }
    if (at->second.needs_proof()) found.push_back(convolution.problem);
  }
  if (found.empty()) return steps;

  witness.begins(ConvolutionRole::tuned, 2 * pairs);
  const std::size_t known = steps.runs.size();
  for (std::size_t turn = 0; turn < 2 * pairs; ++turn) {
    if (turn < known) {
      witness.known();
      continue;
    }
    ConvolutionRunStep step;
    step.pair = turn / 2;
    step.tuned = is_turn_of_best(step.pair, turn % 2);
    const std::string name = fmt::format("proof, run {} of {}", turn + 1, 2 * pairs);
    witness.doing(name);
    step.measured = TRY(timed(
        [&] { return run(step.tuned ? ConvolutionRole::tuned : ConvolutionRole::before, found); },
        step.spent_seconds));
    TRY(journal.append(to_json(step)));
    witness.done(name, step.spent_seconds, step.tuned ? "tuned" : "before");
    steps.runs.push_back(std::move(step));
  }
  return steps;
}

}  // namespace assay

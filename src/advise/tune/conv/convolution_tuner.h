// Tunes convolutions: a search of each by the library, then runs of all as before and as tuned, in
// turns, each in a process of its own. What they do is kept step by step.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "advise/tune/conv/convolution_outcome.h"
#include "advise/tune/tuning_journal.h"
#include "core/result.h"

namespace assay {

enum class ConvolutionRole { search, before, tuned };

/// Runs convolutions in a fresh process; one for which there was no time is missing, but never the
/// first. Error: interrupted; failed,
/// if it measured none of them.
using RunConvolutions = std::function<Result<MeasuredConvolutions>(
    ConvolutionRole role, std::span<const ConvolutionProblem> problems)>;

/// What happens, for the user's eyes.
class TuningWitness {
 public:
  virtual ~TuningWitness() = default;
  virtual void begins(ConvolutionRole role, std::size_t steps) = 0;
  /// A step that an earlier process did.
  virtual void known() = 0;
  virtual void doing(std::string_view name) = 0;
  virtual void done(std::string_view name, double seconds, std::string_view result) = 0;
};

/// Takes the steps that the journal lacks, for `pairs` pairs. Error: interrupted; failed, if a run
/// of the proof measured nothing; usage, if the journal is damaged; exhausted.
Result<ConvolutionSteps> tune_convolutions(const std::filesystem::path& folder,
                                           TuningJournal& journal,
                                           const std::vector<CountedConvolution>& convolutions,
                                           std::size_t pairs, const RunConvolutions& run,
                                           TuningWitness& witness);
/// The steps of a journal in `folder`. Error: usage, naming file and line.
Result<ConvolutionSteps> convolution_steps(const std::filesystem::path& folder,
                                           const std::vector<Json>& steps);

}  // namespace assay

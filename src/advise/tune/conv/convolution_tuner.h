// Tunes convolutions: searches each with the library, then proves the gains by alternating runs of
// all convolutions as before and as tuned, each in its own process. Every step is written to a
// journal.
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

/// What a run does.
enum class ConvolutionRole {
  search,  ///< searches one convolution
  before,  ///< a run of the proof, as before tuning
  tuned,   ///< a run of the proof, with what the searches found
};

/// Runs convolutions in a fresh process. Convolutions for which no time was left are missing from
/// the result, but never the first one. Error: interrupted; failed if none was measured.
using RunConvolutions = std::function<Result<MeasuredConvolutions>(
    ConvolutionRole role, std::span<const ConvolutionProblem> problems)>;

/// Progress callbacks for the user interface, which tune_convolutions() calls on its thread.
class TuningWitness {
 public:
  virtual ~TuningWitness() = default;
  /// Called once before the searches and once before the runs of the proof, with role `tuned`.
  virtual void begins(ConvolutionRole role, std::size_t steps) = 0;
  /// Called for a step that an earlier process already did.
  virtual void known() = 0;
  /// Called before and after any other step. `seconds`: what it took; `result`: one line.
  virtual void doing(std::string_view name) = 0;
  virtual void done(std::string_view name, double seconds, std::string_view result) = 0;
};

/// Takes the steps that the journal in `folder` lacks, with `pairs` pairs of runs as the proof.
/// Without a search that found something faster there is no proof. Error: interrupted; usage if the
/// journal is damaged; that of `run` if a run of the proof fails; as TuningJournal::append().
Result<ConvolutionSteps> tune_convolutions(const std::filesystem::path& folder,
                                           TuningJournal& journal,
                                           const std::vector<CountedConvolution>& convolutions,
                                           std::size_t pairs, const RunConvolutions& run,
                                           TuningWitness& witness);
/// Parses the steps of the journal in `folder`. Error: usage, naming file and line.
Result<ConvolutionSteps> convolution_steps(const std::filesystem::path& folder,
                                           const std::vector<Json>& steps);

}  // namespace assay

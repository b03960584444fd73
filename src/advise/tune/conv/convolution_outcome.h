// The steps of tuning convolutions, and their outcome. Pure functions.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "advise/tune/conv/convolution_list.h"
#include "core/json_fwd.h"
#include "core/result.h"

namespace assay {

/// The result for one convolution in one run.
struct MeasuredConvolution {
  std::optional<double> seconds;  ///< time of one convolution; empty: it has no verified result
  std::string algorithm;
  bool first = false;  ///< the library's default algorithm is the fastest of those measured
  std::string reason;  ///< why there are no seconds
};
/// The results of one run, by describe() of the convolution.
using MeasuredConvolutions = std::map<std::string, MeasuredConvolution>;

/// The step of a search, which fills the library's databases or assay's cache.
struct ConvolutionSearchStep {
  std::string problem;  ///< describe()
  MeasuredConvolution found;
  double spent_seconds = 0;  ///< duration of the step, with its process

  /// Returns whether the search found something faster than the default, which then needs a proof.
  bool needs_proof() const { return found.seconds && !found.first; }
};
/// A run of the proof in a fresh process, with all convolutions as before tuning or as tuned.
struct ConvolutionRunStep {
  std::size_t pair = 0;  ///< from 0; two runs, one of each side, form a pair
  bool tuned = false;    ///< false: as before tuning
  MeasuredConvolutions measured;
  double spent_seconds = 0;  ///< duration of the step, with its process
};
struct ConvolutionSteps {
  std::map<std::string, ConvolutionSearchStep> searches;  ///< keyed by problem
  std::vector<ConvolutionRunStep> runs;                   ///< in time order
};

Json to_json(const ConvolutionSearchStep& step);
Json to_json(const ConvolutionRunStep& step);
/// Adds a step of a journal. Error: usage if `json` is not a step.
Status add_step(ConvolutionSteps& steps, const Json& json);

/// The speed on one side of a proof.
struct ConvolutionSpeed {
  std::string algorithm;  ///< algorithm of the last run
  double seconds = 0;     ///< time of one convolution, median over the runs
};
/// What the tuning of one convolution found.
struct ConvolutionOutcome {
  CountedConvolution convolution;
  /// Why the tuning has no result; empty: it has a result. If set, only `floor_seconds` and `stays`
  /// are meaningful below.
  std::string reason;
  ConvolutionSpeed before, after;
  std::size_t pairs = 0;  ///< pairs of the proof; 0: the library's default is the fastest
  /// The speed after tuning divided by that before, with its 95% interval; 1 without a proof.
  double gain = 1, gain_low = 1, gain_high = 1;
  bool faster = false, slower = false;  ///< proven
  bool equal = false;                   ///< proven equal within the margin
  std::optional<double> floor_seconds;  ///< lower limit, by the roofline; empty: peaks are unknown
  /// The tuned record is not proven faster, but may remain in a database, because
  /// take_back_unproven() could not revert it.
  bool stays = false;

  /// Returns the time from now on: tuned if it was proven faster or stays, else that before tuning.
  double best_seconds() const { return faster || stays ? after.seconds : before.seconds; }
};
/// Returns the outcome of each convolution, in their order. If its steps are missing, `reason` says
/// so.
std::vector<ConvolutionOutcome> outcomes_of(const std::vector<CountedConvolution>& convolutions,
                                            const ConvolutionSteps& steps,
                                            const DeviceFacts& facts);
Json to_json(const ConvolutionOutcome& outcome);

}  // namespace assay

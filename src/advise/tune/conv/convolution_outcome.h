// What tuning convolutions did, step by step, and what that comes to. Pure functions.
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

/// One convolution in one run.
struct MeasuredConvolution {
  std::optional<double> seconds;  ///< of one convolution; empty: it has no verified result
  std::string algorithm;
  bool first = false;  ///< of all that was measured, the library's own first choice is the fastest
  std::string reason;  ///< why there are no seconds
};
/// Of one run, by describe() of the convolution.
using MeasuredConvolutions = std::map<std::string, MeasuredConvolution>;

/// A search, which fills the library's databases or assay's cache.
struct ConvolutionSearchStep {
  std::string problem;  ///< describe()
  MeasuredConvolution found;
  double spent_seconds = 0;

  /// Whether it leaves something to prove.
  bool needs_proof() const { return found.seconds && !found.first; }
};
/// A run of the proof, a fresh process: all convolutions as before, or as tuned.
struct ConvolutionRunStep {
  std::size_t pair = 0;
  bool tuned = false;
  MeasuredConvolutions measured;
  double spent_seconds = 0;
};
struct ConvolutionSteps {
  std::map<std::string, ConvolutionSearchStep> searches;  ///< by problem
  std::vector<ConvolutionRunStep> runs;                   ///< in the order of time
};

Json to_json(const ConvolutionSearchStep& step);
Json to_json(const ConvolutionRunStep& step);
/// Adds a step of a journal. Error: usage, if it is none.
Status add_step(ConvolutionSteps& steps, const Json& json);

/// One side of a proof.
struct ConvolutionSpeed {
  std::string algorithm;  ///< of its last run
  double seconds = 0;     ///< of one convolution, median over the runs
};
struct ConvolutionOutcome {
  CountedConvolution convolution;
  std::string reason;  ///< why nothing was proven; then all below is empty
  ConvolutionSpeed before, after;
  std::size_t pairs = 0;  ///< of the proof; 0: the library's own first choice is the fastest
  double gain = 1, gain_low = 1, gain_high = 1;  ///< of speed, with its 95% interval
  bool faster = false, slower = false;           ///< proven
  bool equal = false;                            ///< within the margin, proven
  std::optional<double> floor_seconds;           ///< the least that the device's roofs allow
  /// It was not proven to be faster, and a database may still have it: take_back_unproven().
  bool stays = false;

  /// Only what is proven to be faster is kept.
  double best_seconds() const { return faster || stays ? after.seconds : before.seconds; }
};
/// Error text in `reason` for convolutions of which steps are missing.
std::vector<ConvolutionOutcome> outcomes_of(const std::vector<CountedConvolution>& convolutions,
                                            const ConvolutionSteps& steps,
                                            const DeviceFacts& facts);
Json to_json(const ConvolutionOutcome& outcome);

}  // namespace assay

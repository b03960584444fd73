// Computes how long a server's steps take on a device on which passes of the model were measured.
// Lines between the measurements replace the formula of step_seconds() (capacity.h).
#pragma once

#include <map>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "results/record/record.h"
#include "serving/simulator/capacity.h"

namespace assay::simulator {

/// A pass of `assay run prefill` or `assay run decode`.
struct MeasuredPass {
  bool decodes = false;  ///< computes one token of each sequence; otherwise whole prompts
  double sequences = 0;
  double tokens = 0;   ///< tokens of each sequence: its prompt, or its context with each new token
  double seconds = 0;  ///< above 0
};

/// seconds(step) = base(new_tokens) + k x kv_tokens + p x prefill_pairs, where these three are
/// members of StepWork, and k, p and `base` are at least 0. `base` is linear between the numbers of
/// tokens that were measured, constant below the smallest and in proportion beyond the largest. k
/// follows from passes with equally many new tokens and different contexts. p follows from passes
/// in which equally many tokens are fewer long or more short prompts. Without such passes k or p is
/// 0, and `base` contains what it stands for.
class MeasuredTimes {
 public:
  /// Fits by least squares of relative errors. Error: usage, if no pass decodes or none is of
  /// prompts.
  static Result<MeasuredTimes> fit(const std::vector<MeasuredPass>& passes);

  /// Returns the seconds of a step, without the fixed time between steps
  /// (Hardware::launch_seconds).
  double seconds(const StepWork& work) const;
  /// Returns whether the passes show p apart from k and `base`.
  bool separates_pairs() const { return separates_pairs_; }
  /// Returns the largest error over the passes that were fitted, relative to the measured time.
  double largest_error() const { return largest_error_; }

 private:
  double base(double tokens) const;

  std::map<double, double> base_;  // seconds by new tokens
  double per_cached_token_ = 0, per_pair_ = 0;
  bool separates_pairs_ = false;
  double largest_error_ = 0;
};

/// Returns the passes in the records of prefill and decode that have a value and whose axis "model"
/// is `model`. An empty `model` means the only one that there is. Error: usage if there is no such
/// record, or several models and none is named, naming the models; also if the records differ in
/// device, number of ranks, precision, quantization or type of the cache.
Result<std::vector<MeasuredPass>> measured_passes(const std::vector<Record>& records,
                                                  std::string_view model);

}  // namespace assay::simulator

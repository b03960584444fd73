// Computes how long steps take on a device whose passes were measured. Curves through measurements
// replace the formula for a GPU.
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
  bool decodes = false;  ///< one token of each sequence; otherwise whole prompts
  double sequences = 0;
  double tokens = 0;  ///< tokens of each sequence: its prompt, or its context with the new token
  double seconds = 0;
};

/// seconds(step) = base(new tokens) + k x tokens in the caches + p x pairs of the chunks. `base` is
/// linear between the numbers of tokens that were measured, and in proportion beyond the largest; k
/// follows from passes of as many tokens with different contexts, p from prompts that share a
/// number of tokens differently, and is otherwise part of `base`.
class MeasuredTimes {
 public:
  /// By least squares of relative errors. Error: usage, if no pass decodes or none is of prompts.
  static Result<MeasuredTimes> fit(const std::vector<MeasuredPass>& passes);

  double seconds(const StepWork& work) const;
  /// Returns whether what attention of prompts costs was told apart from what their tokens cost.
  bool separates_pairs() const { return separates_pairs_; }
  /// The largest relative error over the passes that were fitted.
  double largest_error() const { return largest_error_; }

 private:
  double base(double tokens) const;

  std::map<double, double> base_;  // seconds by new tokens
  double per_cached_token_ = 0, per_pair_ = 0;
  bool separates_pairs_ = false;
  double largest_error_ = 0;
};

/// The passed prefill and decode records of `model`, which may be empty if there is only one.
/// Error: usage, naming the models that there are.
Result<std::vector<MeasuredPass>> measured_passes(const std::vector<Record>& records,
                                                  std::string_view model);

}  // namespace assay::simulator

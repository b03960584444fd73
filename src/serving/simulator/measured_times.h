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

/// seconds(step) = base(new tokens) + k x tokens in the caches + p x pairs of the chunks
/// (StepWork). `base` is linear between the numbers of tokens that were measured, constant below
/// the smallest and in proportion beyond the largest. k follows from passes of equally many new
/// tokens with different contexts. p follows from passes in which equally many tokens are fewer
/// long or more short prompts; without such passes it is part of `base`.
class MeasuredTimes {
 public:
  /// Fits by least squares of relative errors. Error: usage, if no pass decodes or none is of
  /// prompts.
  static Result<MeasuredTimes> fit(const std::vector<MeasuredPass>& passes);

  double seconds(const StepWork& work) const;
  /// Returns whether p could be separated from `base`.
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

/// Returns the passes of the prefill and decode records with a value of `model`, which may be empty
/// if there is only one.
/// Error: usage, naming the models that there are.
Result<std::vector<MeasuredPass>> measured_passes(const std::vector<Record>& records,
                                                  std::string_view model);

}  // namespace assay::simulator

// Trials of a server's parameters: what is added to its command, what counts of a load, which trial
// is the best, and whether it really is. Pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"
#include "serving/results/serving_result.h"
#include "statistics/summary.h"
#include "tune/settings.h"

namespace assay {

/// "max-num-seqs=128,256", "SOME_VARIABLE=0,1", or a flag, "enable-chunked-prefill". Error: usage.
Result<std::vector<Setting>> parse_server_setting(std::string_view text);

/// The command's words with those of `settings` that are no variables as "--NAME VALUE": in place
/// of a value that is there already, else at the end.
std::vector<std::string> with_parameters(std::vector<std::string> words, const Settings& settings);
/// Those that are variables of the environment.
std::vector<std::pair<std::string, std::string>> variables_of(const Settings& settings);

/// A latency that must not be exceeded.
struct LatencyLimit {
  enum class Of { ttft, tpot, itl, e2el };
  std::string name;               ///< "p99_e2el"
  Of of = Of::e2el;               ///< from when requests were sent
  std::optional<double> percent;  ///< empty: the mean
  double seconds = 0;
};
/// "p99_e2el:500ms,mean_ttft:200ms". Error: usage.
Result<std::vector<LatencyLimit>> parse_latency_limits(std::string_view text);

/// What a load says about a setting; more is better.
struct ServerScore {
  std::optional<double> value;  ///< goodput, where there are limits of it, else output throughput
  std::string problem;          ///< why there is no value, or which limit is not kept

  bool counts() const { return value && problem.empty(); }
};
/// A void run has no value.
ServerScore score_of(const ServingResult& result, std::span<const LatencyLimit> limits);

struct ServerTrial {
  Settings settings;
  ServerScore score;
  std::optional<ServingResult> result;  ///< empty: the server or the load failed
};
/// The trial with the highest score that counts; the first one, which is as it is, unless another
/// is higher. Empty: none counts.
std::optional<std::size_t> best_of(std::span<const ServerTrial> trials);

/// One fresh run as it is and one with the best setting, next to each other in time.
struct ServerPair {
  ServerScore as_it_is, best;
};

/// What such pairs say about the best setting.
struct ServerProof {
  std::size_t runs = 0;                          ///< of each side
  std::size_t kept_as_it_is = 0, kept_best = 0;  ///< of them those that count: every limit kept
  std::size_t pairs = 0;                         ///< with two values
  double ratio = 1;                              ///< of the scores: geometric mean over the pairs
  Interval interval95;  ///< of it, Student's t on logarithms; infinite for a single pair
  /// The best kept the limits in every run, and either as it is never did or the interval lies
  /// above 1.
  bool proven = false;
};
/// In time order.
ServerProof prove(std::span<const ServerPair> pairs);

}  // namespace assay

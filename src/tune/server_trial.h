// Trials of a server's parameters: the command to start, the score of a load, the best trial and
// the proof that it is better. Pure functions.
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
#include "tune/proof.h"
#include "tune/settings.h"

namespace assay {

/// "max-num-seqs=128,256", "SOME_VARIABLE=0,1", or a flag, "enable-chunked-prefill". Error: usage.
Result<std::vector<Setting>> parse_server_setting(std::string_view text);

/// The command's words plus those `settings` that are not environment variables, as "--NAME VALUE":
/// they replace the value of an option that is already there, else they go to the end.
std::vector<std::string> with_parameters(std::vector<std::string> words, const Settings& settings);
/// The `settings` that are environment variables.
std::vector<std::pair<std::string, std::string>> variables_of(const Settings& settings);

/// A latency that must not be exceeded.
struct LatencyLimit {
  enum class Of { ttft, tpot, itl, e2el };
  std::string name;               ///< "p99_e2el"
  Of of = Of::e2el;               ///< counted from when requests were sent
  std::optional<double> percent;  ///< empty: the mean
  double seconds = 0;
};
/// "p99_e2el:500ms,mean_ttft:200ms". Error: usage.
Result<std::vector<LatencyLimit>> parse_latency_limits(std::string_view text);

/// The score of one load under a setting; more is better.
struct ServerScore {
  std::optional<double> value;  ///< goodput if the load has limits for it, else output throughput
  std::string problem;          ///< why there is no value, or which limit was exceeded

  bool counts() const { return value && problem.empty(); }
};
/// A void run has no value.
ServerScore score_of(const ServingResult& result, std::span<const LatencyLimit> limits);

struct ServerTrial {
  Settings settings;
  ServerScore score;
  std::optional<ServingResult> result;  ///< empty: the server or the load failed
};
/// The trial with the highest score that counts; the first of equals, so that the unchanged server
/// (the first trial) wins a tie. Empty: none counts.
std::optional<std::size_t> best_of(std::span<const ServerTrial> trials);

/// Two fresh runs next to each other in time: one of the unchanged server, one with the best
/// setting.
struct ServerPair {
  ServerScore as_it_is, best;
};

/// What the pairs prove about the best setting.
struct ServerProof {
  std::size_t runs = 0;                          ///< of each side
  std::size_t kept_as_it_is = 0, kept_best = 0;  ///< runs that count: every limit kept
  Proof speed;                                   ///< over the pairs in which both have a value
  /// The best setting kept the limits in every run, and either the unchanged server never did or
  /// `assay compare` would call the best setting faster. Fewer than least_units pairs prove
  /// nothing.
  bool proven = false;
};
/// In time order.
ServerProof prove(std::span<const ServerPair> pairs);

}  // namespace assay

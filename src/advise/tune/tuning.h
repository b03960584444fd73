// Tunes a benchmark, a server or a program. A search finds the best setting; then the proof tests
// on fresh alternating runs whether that setting is better than the default one. Each run is a
// child process and is logged, so that a stopped tuning can continue.
//
// A setting is one combination of values of all parameters, known by its number in the
// ParameterSpace. Names with `usual` are about the default setting, which is in use before tuning.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "advise/tune/parameter_space.h"
#include "advise/tune/proof.h"
#include "advise/tune/search.h"
#include "advise/tune/trial_log.h"
#include "results/record/record.h"

namespace assay {

/// The limits of a tuning.
struct TuningRules {
  std::size_t runs = 200;              ///< upper limit of the runs of the search
  std::optional<double> seconds = {};  ///< time budget of the search; empty: no limit
  /// Lower and upper limit of the pairs of the proof.
  std::size_t least_pairs = 10, most_pairs = 60;
  std::uint64_t seed = 1;
};

/// Returns the search's part of the rules. `time_spent` tells the share of the time budget that is
/// spent.
SearchBudget search_budget(const TuningRules& rules, std::function<double()> time_spent);

/// The score of one run of a setting.
struct TrialScore {
  /// The natural logarithm of a speed, in a unit that the kind of target chooses. A larger one is
  /// better. Empty: the run failed.
  std::optional<double> score;
  /// Why the run failed, or which of the user's limits on latencies it exceeds. Empty: the score
  /// counts.
  std::string problem;

  bool counts() const { return score && problem.empty(); }
};

/// One run of a setting.
struct Trial {
  std::vector<Record> records;  ///< at least one
  TrialScore score;
};

/// How settings are tried for one kind of target: a benchmark, a server or a program.
struct TrialKind {
  /// Returns the cell of the record that is stored for a run without records of its own.
  std::function<Cell(const Settings&)> cell;
  /// Runs the target once and returns its records. `blank` has only the run's id, the fingerprint
  /// and the cell. `most_seconds` limits the run to 5 times the longest run of the default setting
  /// and 2 s more; it is infinite until that has run. A server's load ignores it, because it has
  /// limits of its own.
  /// An error means that the setting failed, unless it is "interrupted".
  std::function<Result<std::vector<Record>>(const Settings&, const Record& blank,
                                            double most_seconds)>
      measure;
  /// Returns the score of a run's records.
  std::function<TrialScore(const std::vector<Record>&)> score;
};

/// The progress of a tuning. Its numbers cover search and proof, and runs of earlier processes.
struct TuningState {
  std::string_view part;      ///< search_part (results/record/record.h) or proof_part
  const Settings& settings;   ///< settings of the current run; valid during the callback
  std::size_t runs = 0;       ///< number of runs that ended
  std::size_t most_runs = 0;  ///< upper limit of `runs` at the end of this part
  double seconds = 0;         ///< total time of the runs that ended
};

/// Callbacks for progress, which must be set. They are called in the thread that calls tune(). Runs
/// that an earlier process made are not reported.
struct TuningEvents {
  std::function<void(const TuningState&)> begins;  ///< called before a run
  /// Called after it. `is_best`: the run has the best score of the search so far.
  std::function<void(const TuningState&, const Trial&, bool is_best)> ended;
};

/// Two consecutive runs of the proof, one of the default setting and one of the best.
struct TrialPair {
  Trial usual, best;
};

/// The runs of the proof, and what they prove.
struct TuningProof {
  /// The complete pairs, in time order. The best setting's score counts in each.
  std::vector<TrialPair> pairs;
  std::size_t usual_counts = 0;  ///< number of pairs in which the default setting's score counts
  /// The failure that ended the proof early: "the default setting failed: ..."; empty if there was
  /// none.
  std::string failure;
  std::vector<ScorePair> scores;  ///< scores of `pairs`
  Proof speed;                    ///< judgement over `scores`
  /// Whether the best setting is proven better: `failure` is empty, there are at least 6 pairs
  /// (least_units in statistics/paired.h), and `speed.better` is set or `usual_counts` is 0.
  bool better = false;

  /// Returns whether the proof is conclusive: `failure` is empty, and the best setting is proven
  /// better, worse or equal.
  bool decided() const;
};

/// What search and proof found.
struct TuningResult {
  SettingsFound found;
  std::map<std::size_t, Trial> tried;  ///< last run of each setting in the search, by its number
  std::size_t runs = 0;  ///< number of runs of the search, with those of earlier processes
  double seconds = 0;    ///< total time of these runs
  std::optional<TuningProof> proof;  ///< proof of challenger(); empty: there is no challenger

  /// Returns the best setting of the search other than `usual`, the default one. It is compared
  /// with the default in the proof even if the default won the search, because search results are
  /// no proof. Empty: no other setting has a score that counts.
  std::optional<std::size_t> challenger(std::size_t usual) const;
  bool any_counts() const;  ///< whether the search has a score that counts
};

inline constexpr std::string_view proof_part = "proof";

/// Runs search and proof. Error: interrupted; usage if a stored run has another part or setting; as
/// TrialLog::run(); unavailable if the default setting's first run has no score.
Result<TuningResult> tune(const ParameterSpace& space, const TuningRules& rules,
                          const TrialKind& kind, TrialLog& log, const TuningEvents& events);

}  // namespace assay

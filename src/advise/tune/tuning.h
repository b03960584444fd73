// Tunes a benchmark, a server or a program: a search for the best setting, then the proof on fresh
// alternating runs that it is better than the default one. Each run is a child process and is
// logged, so that a stopped tuning can continue.
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

struct TuningRules {
  std::size_t runs = 200;                         ///< most runs of the search
  std::optional<double> seconds = {};             ///< time budget of the search
  std::size_t least_pairs = 10, most_pairs = 60;  ///< pairs of the proof
  std::uint64_t seed = 1;
};

/// The score of one run of a setting.
struct TrialScore {
  std::optional<double> score;  ///< natural logarithm of a speed; empty: the run failed
  std::string problem;  ///< why it failed, or which limit it broke so that its score does not count

  bool counts() const { return score && problem.empty(); }
};

struct Trial {
  std::vector<Record> records;  ///< at least one
  TrialScore score;
};

/// How settings are tried for one kind of target: a benchmark, a server or a program.
struct TrialKind {
  /// The cell for the record of a run that left none.
  std::function<Cell(const Settings&)> cell;
  /// Runs the target once, for at most `most_seconds`; a slower setting is not worth waiting for.
  /// An error means that the setting failed, unless it is "interrupted".
  std::function<Result<std::vector<Record>>(const Settings&, const Record& blank,
                                            double most_seconds)>
      measure;
  std::function<TrialScore(const std::vector<Record>&)> score;
};

/// The progress of a tuning.
struct TuningState {
  std::string_view part;      ///< search_part or proof_part
  const Settings& settings;   ///< settings of the current run
  std::size_t runs = 0;       ///< number of runs that ended
  std::size_t most_runs = 0;  ///< most runs up to the end of this part
  double seconds = 0;         ///< total time of these runs
};

/// Callbacks for progress. Runs that an earlier process made are not reported.
struct TuningEvents {
  std::function<void(const TuningState&)> begins;
  /// `is_best`: the run has the best score of the search so far.
  std::function<void(const TuningState&, const Trial&, bool is_best)> ended;
};

struct TrialPair {
  Trial usual, best;
};

struct TuningProof {
  std::vector<TrialPair> runs;  ///< in time order; the best setting's score counts in every run
  std::size_t kept_usual = 0;   ///< number of runs in which the default setting's score counts
  /// The failure that ended the proof early: "the default setting failed: ..."; empty if there was
  /// none.
  std::string failure;
  std::vector<ScorePair> pairs;  ///< scores of `runs`
  Proof speed;                   ///< judgement over `pairs`
  /// The best setting is proven better: no run failed, there are at least least_units pairs, and it
  /// is proven faster or the default setting's score never counts.
  bool better = false;

  /// Whether the proof is conclusive: the best setting is better, worse or equal.
  bool decided() const;
};

struct TuningResult {
  SettingsFound found;
  std::map<std::size_t, Trial> tried;  ///< last run of each setting in the search, by setting
  std::size_t runs = 0;                ///< number of runs of the search
  double seconds = 0;                  ///< total time of the search
  std::optional<TuningProof> proof;    ///< proof of the challenger; empty: there is none

  /// The best setting of the search other than the default one. It is compared with the default in
  /// the proof even if the default won the search, because search results are no proof. Empty: no
  /// other setting has a score that counts.
  std::optional<std::size_t> challenger(std::size_t usual) const;
  bool any_counts() const;
};

inline constexpr std::string_view proof_part = "proof";

/// Runs search and proof. Error: as from TrialLog::run(); unavailable if the default setting's
/// first run has no score.
Result<TuningResult> tune(const ParameterSpace& space, const TuningRules& rules,
                          const TrialKind& kind, TrialLog& log, const TuningEvents& events);

}  // namespace assay

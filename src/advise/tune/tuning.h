// The course of a tuning of a benchmark, a server or a program: a search for the best setting, and
// the proof that it is better than the usual one, on fresh runs in turns. Each run is a process of
// its own and kept in a log, so that a tuning that was stopped goes on where it was.
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
  std::size_t runs = 200;                         ///< of the search, at most
  std::optional<double> seconds = {};             ///< for the search
  std::size_t least_pairs = 10, most_pairs = 60;  ///< of the proof; from least_units
  std::uint64_t seed = 1;
};

/// What a run says of a setting.
struct TrialScore {
  std::optional<double> score;  ///< natural logarithm of a speed, more is better; empty: it failed
  std::string problem;  ///< why it failed, or why a speed does not count: a limit was broken

  bool counts() const { return score && problem.empty(); }
};

struct Trial {
  std::vector<Record> records;  ///< at least one
  TrialScore score;
};

/// How the settings of one kind of thing are tried.
struct TrialKind {
  /// What is tuned: the cell of a run that left no record.
  std::function<Cell(const Settings&)> cell;
  /// Runs it once, for at most so many seconds, after which a setting is not worth more. An error
  /// is the result of a setting that failed, unless it is "interrupted".
  std::function<Result<std::vector<Record>>(const Settings&, const Record& blank,
                                            double most_seconds)>
      measure;
  std::function<TrialScore(const std::vector<Record>&)> score;
};

/// How far a tuning is.
struct TuningState {
  std::string_view part;      ///< of the tuning: search_part or proof_part
  const Settings& settings;   ///< of the run
  std::size_t runs = 0;       ///< that ended
  std::size_t most_runs = 0;  ///< of this and the parts before
  double seconds = 0;         ///< that they took
};

/// Who is told, of runs that no earlier process made.
struct TuningEvents {
  std::function<void(const TuningState&)> begins;
  /// `is_best`: of all that the search ran so far.
  std::function<void(const TuningState&, const Trial&, bool is_best)> ended;
};

struct TrialPair {
  Trial usual, best;
};

struct TuningProof {
  std::vector<TrialPair> runs;  ///< in time order; the best setting counts in all
  std::size_t kept_usual = 0;   ///< runs in which the usual setting counts
  /// Which run ended the proof and why: "the usual setting failed: ..."; empty: none did.
  std::string failure;
  std::vector<ScorePair> pairs;  ///< of `runs`
  Proof speed;                   ///< over them
  /// No run failed, and either the usual setting never counts or the best one is proven faster.
  /// Fewer than least_units runs prove nothing.
  bool better = false;

  /// Whether more pairs are needless: better, worse or equal.
  bool decided() const;
};

struct TuningResult {
  SettingsFound found;
  std::map<std::size_t, Trial> tried;  ///< in the search, by setting: its last run
  std::size_t runs = 0;                ///< of the search
  double seconds = 0;                  ///< that it took
  std::optional<TuningProof> proof;    ///< of the challenger; empty: there is none

  /// The search's best setting but the usual one: it meets that in the proof even if the usual one
  /// won, since what a search says is not proven. Empty: no other setting counts.
  std::optional<std::size_t> challenger(std::size_t usual) const;
  bool any_counts() const;
};

inline constexpr std::string_view proof_part = "proof";

/// Error: as from TrialLog::run(); unavailable, if the usual setting's first run has no score.
Result<TuningResult> tune(const ParameterSpace& space, const TuningRules& rules,
                          const TrialKind& kind, TrialLog& log, const TuningEvents& events);

}  // namespace assay

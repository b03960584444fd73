// Runs a campaign: block after block of paired units until the result is precise enough. A
// UnitRunner runs each unit, so that the same logic drives processes and simulations.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/result.h"
#include "judge/campaign/schedule.h"
#include "judge/campaign/unit_values.h"
#include "results/store/unit_line.h"

namespace assay {

struct UnitRequest {
  Member member;
  std::size_t pair = 0, position = 0;  ///< those of its Turn
  int attempt = 1;                     ///< from 1; a unit that failed is tried twice
};

struct UnitResult {
  std::string run;         ///< id; empty if it reported none
  std::string begin, end;  ///< UTC
  double seconds = 0;
  int exit_status = 0;
  bool complete = false;     ///< it measured all cells, and its values count
  bool interrupted = false;  ///< the user interrupted the unit; it did not fail and does not count
  /// If set, the campaign ends and the unit counts as not begun. Either its results cannot be
  /// stored on this machine, which no environment is to blame for, or the first look found an
  /// environment that cannot be measured.
  std::optional<Error> end_of_campaign;
  std::string reason;  ///< why it is not complete, or what went wrong in it
  std::string stderr_tail;
  UnitValues values;
  std::optional<double> taken_share;  ///< see UnitLine::taken_share
};

/// Runs units for run_campaign(), on its thread: ProcessRunner starts processes.
class UnitRunner {
 public:
  virtual ~UnitRunner() = default;
  /// Runs all requests at the same time; results are in the same order. Never fails as a whole.
  virtual std::vector<UnitResult> run(const std::vector<UnitRequest>& requests) = 0;
};

/// The results of earlier processes of this campaign: lines of units.jsonl and the values of
/// complete units.
struct CampaignHistory {
  std::vector<UnitLine> lines;  ///< in the file's order
  /// Keyed by environment and pair.
  std::map<std::pair<std::string, std::size_t>, UnitValues> values;
};

/// Receives the campaign's events and answers its questions, on the thread of run_campaign().
class CampaignObserver {
 public:
  virtual ~CampaignObserver() = default;
  virtual void starting(const std::vector<UnitRequest>& requests) = 0;
  /// Must store the line. An Error ends the campaign.
  virtual Status finished(const UnitLine& line) = 0;
  /// Called after each whole block, once this process has run a unit. Its arguments are the number
  /// of pairs, of contrasts of cells that are precise enough, and of all contrasts.
  virtual void looked(std::size_t pairs, std::size_t precise, std::size_t contrasts) = 0;
  /// Called if an arm failed in three of its turns in a row; this process does not try it again.
  virtual void gave_up(const Arm& arm) = 0;
  virtual bool stop_requested() = 0;  ///< asked before each turn and after each failed attempt
};

struct CampaignDesign {
  Schedule schedule;
  std::uint64_t seed = 1;
  double margin = 0.02;
  std::size_t least_pairs = 10, most_pairs = 40;
  std::size_t pairs_per_draw = 1;        ///< 2 in a campaign begun by an older version
  std::optional<double> budget_seconds;  ///< budget of all units, including those of the history
};

enum class CampaignStop {
  precise,     ///< every contrast of every cell is precise, except those of arms given up
  most_pairs,  ///< the plan's limit
  /// The next block would exceed it if it took as long as the others did on average. The first
  /// block, and one that an earlier process began, are measured all the same.
  budget,
  interrupted,  ///< the user interrupted the campaign
  failed,       ///< nothing is left to compare, because arms were given up
};
std::string_view name_of(CampaignStop stop);

struct CampaignOutcome {
  CampaignStop stop = CampaignStop::failed;
  std::size_t pairs = 0;                   ///< in whole blocks
  std::size_t precise = 0, contrasts = 0;  ///< at the last look
  std::vector<std::string> given_up;       ///< environments
  /// The values of all complete units, those of the history included, by environment and pair.
  std::map<std::pair<std::string, std::size_t>, UnitValues> values;
};

/// Units in `history` are not repeated, except incomplete ones of its last turn. Error: from the
/// observer, or a unit's end_of_campaign.
Result<CampaignOutcome> run_campaign(const CampaignDesign& design, CampaignHistory history,
                                     UnitRunner& runner, CampaignObserver& observer);

}  // namespace assay

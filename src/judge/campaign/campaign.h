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
  std::size_t pair = 0, position = 0;
  int attempt = 1;
};

struct UnitResult {
  std::string run;         ///< id; empty if it reported none
  std::string begin, end;  ///< UTC
  double seconds = 0;
  int exit_status = 0;
  bool complete = false;
  bool interrupted = false;  ///< by the user: it did not fail and does not count
  /// Why the campaign ends here and the unit counts as not begun: its results cannot be kept on
  /// this machine, which no environment is to blame for, or the first look found an environment
  /// that cannot be measured.
  std::optional<Error> end_of_campaign;
  std::string reason;  ///< why it is not complete, or what went wrong in it
  std::string stderr_tail;
  UnitValues values;
  std::optional<double> taken_share;  ///< as UnitLine has it
};

class UnitRunner {
 public:
  virtual ~UnitRunner() = default;
  /// Runs all of them at the same time; results are in the same order. Never fails as a whole.
  virtual std::vector<UnitResult> run(const std::vector<UnitRequest>& requests) = 0;
};

/// What earlier calls measured: lines of units.jsonl and the values of the complete units.
struct CampaignHistory {
  std::vector<UnitLine> lines;
  std::map<std::pair<std::string, std::size_t>, UnitValues> values;  ///< by environment and pair
};

/// What the caller is told and asked.
class CampaignObserver {
 public:
  virtual ~CampaignObserver() = default;
  virtual void starting(const std::vector<UnitRequest>& requests) = 0;
  /// Must keep the line. An Error ends the campaign.
  virtual Status finished(const UnitLine& line) = 0;
  /// After each whole block: how many pairs there are, how many contrasts of cells are precise
  /// enough, and how many contrasts there are.
  virtual void looked(std::size_t pairs, std::size_t precise, std::size_t contrasts) = 0;
  /// An arm failed three times in a row and is not tried again in this call.
  virtual void gave_up(const Arm& arm) = 0;
  virtual bool stop_requested() = 0;
};

struct CampaignDesign {
  Schedule schedule;
  std::uint64_t seed = 1;
  double margin = 0.02;
  std::size_t least_pairs = 10, most_pairs = 40;
  std::size_t pairs_per_draw = 1;        ///< 2 in a campaign begun by an older version
  std::optional<double> budget_seconds;  ///< of all units, including those of the history
};

enum class CampaignStop {
  precise,      ///< every contrast of every cell is precise
  most_pairs,   ///< the plan's limit
  budget,       ///< the next block would exceed it
  interrupted,  ///< by the user
  failed,       ///< nothing is left to compare
};
std::string_view name_of(CampaignStop stop);

struct CampaignOutcome {
  CampaignStop stop = CampaignStop::failed;
  std::size_t pairs = 0;                                             ///< of whole blocks
  std::size_t precise = 0, contrasts = 0;                            ///< at the last look
  std::vector<std::string> given_up;                                 ///< environments
  std::map<std::pair<std::string, std::size_t>, UnitValues> values;  ///< from the history and new
};

/// Units that `history` holds are not repeated. Errors: from the observer, and a unit's
/// end_of_campaign.
Result<CampaignOutcome> run_campaign(const CampaignDesign& design, CampaignHistory history,
                                     UnitRunner& runner, CampaignObserver& observer);

}  // namespace assay

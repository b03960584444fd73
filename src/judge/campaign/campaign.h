// Runs a campaign: block after block of paired units until enough is known, each unit through a
// UnitRunner, so that the same logic drives processes and simulations.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/result.h"
#include "judge/campaign/schedule.h"
#include "judge/campaign/unit_line.h"
#include "judge/campaign/unit_values.h"

namespace assay {

struct UnitRequest {
  Member member;
  std::size_t pair = 0, position = 0;
  int attempt = 1;
};

struct UnitResult {
  std::string run;         ///< id; empty if it told none
  std::string begin, end;  ///< UTC
  double seconds = 0;
  int exit_status = 0;
  bool complete = false;
  bool interrupted = false;  ///< by the user: it neither failed nor counts
  std::string reason;        ///< why it is not complete, or what in it went wrong
  std::string stderr_tail;
  UnitValues values;
};

class UnitRunner {
 public:
  virtual ~UnitRunner() = default;
  /// All of them at the same time, results in the same order. Never fails as a whole.
  virtual std::vector<UnitResult> run(const std::vector<UnitRequest>& requests) = 0;
};

/// What is known from before: lines of units.jsonl and the values of the complete units.
struct CampaignHistory {
  std::vector<UnitLine> lines;
  std::map<std::pair<std::string, std::size_t>, UnitValues> values;  ///< by environment and pair
};

/// What the caller wants to hear and decide.
class CampaignObserver {
 public:
  virtual ~CampaignObserver() = default;
  virtual void starting(const std::vector<UnitRequest>& requests) = 0;
  /// Must keep the line. An Error ends the campaign.
  virtual Status finished(const UnitLine& line) = 0;
  /// After each whole block: how many pairs there are, and how many contrasts of cells are precise
  /// enough, of how many.
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
  std::optional<double> budget_seconds;  ///< of all units, those of the history included
};

enum class CampaignStop {
  precise,      ///< every contrast of every cell
  most_pairs,   ///< the plan's limit
  budget,       ///< the next block would not fit in
  interrupted,  ///< the user
  failed,       ///< nothing is left to compare
};
std::string_view name_of(CampaignStop stop);

struct CampaignOutcome {
  CampaignStop stop = CampaignStop::failed;
  std::size_t pairs = 0;                                             ///< of whole blocks
  std::size_t precise = 0, contrasts = 0;                            ///< at the last look
  std::vector<std::string> given_up;                                 ///< environments
  std::map<std::pair<std::string, std::size_t>, UnitValues> values;  ///< the history's and the new
};

/// Units that `history` holds are not repeated. Error: only the observer's.
Result<CampaignOutcome> run_campaign(const CampaignDesign& design, CampaignHistory history,
                                     UnitRunner& runner, CampaignObserver& observer);

}  // namespace assay

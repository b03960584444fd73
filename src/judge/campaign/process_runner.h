// Runs each unit as a process: starts assay in the unit's environment, reads the lines that it
// prints, and stores their records in the environment's store.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/mutex.h"
#include "judge/campaign/campaign.h"
#include "judge/campaign/cell_turns.h"
#include "judge/campaign/first_look.h"
#include "judge/campaign/plan.h"
#include "judge/campaign/unit_output.h"
#include "ranks/environments/environment.h"
#include "results/store/store.h"

namespace assay {

class ProcessRunner final : public UnitRunner {
 public:
  /// `plan` must outlive the object. `folder` is the absolute path of the campaign's folder.
  /// `stop_requested` returns whether the campaign must stop; several threads call it. `looked`
  /// receives what the environments reported at the first look (first_look.h); if it returns an
  /// error, the campaign ends before its first unit.
  ProcessRunner(const CampaignPlan& plan, std::filesystem::path folder,
                std::function<bool()> stop_requested,
                std::function<Status(const std::vector<EnvironmentLook>&)> looked);

  /// The first call takes the first look at the environments before it starts a unit. If the look
  /// fails, no unit starts, each result is `end_of_campaign` or `interrupted`, and the next call
  /// looks again.
  std::vector<UnitResult> run(const std::vector<UnitRequest>& requests) override;

  /// Returns the error with which the first look ended the campaign; empty if there was none, or if
  /// the user interrupted the look.
  const std::optional<Error>& refusal() const { return refusal_; }

 private:
  /// `barrier` is as in unit_arguments().
  UnitResult run_one(const UnitRequest& request, const std::string& barrier);
  Status run_process(const UnitRequest& request, const std::string& barrier, UnitResult& result);
  Status first_look();
  void clean_up_once(const Member& member, const Launch& launch);
  std::vector<std::string> arguments_of(const UnitRequest& request, const std::string& barrier);

  const CampaignPlan& plan_;
  const std::filesystem::path folder_;
  const std::function<bool()> stop_requested_;
  const std::function<Status(const std::vector<EnvironmentLook>&)> looked_;
  bool has_looked_ = false;
  std::optional<Error> refusal_;
  Mutex mutex_;  // run() runs several units at the same time, each in its own thread
  CellTurns turns_ GUARDED_BY(mutex_);
  /// The names of the stores whose environments were cleaned up: an earlier process that was killed
  /// may have left something behind.
  std::set<std::string> cleaned_ GUARDED_BY(mutex_);
};

}  // namespace assay

// Units as processes: starts assay in the environment, reads its lines, keeps its records. Before
// the first unit it looks at all environments.
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
  /// `folder`: the campaign's, absolute. `stop_requested` is called from several threads. `looked`
  /// judges the first look at the environments.
  ProcessRunner(const CampaignPlan& plan, std::filesystem::path folder,
                std::function<bool()> stop_requested,
                std::function<Status(const std::vector<EnvironmentLook>&)> looked);

  /// The first call looks at the environments before it starts a unit.
  std::vector<UnitResult> run(const std::vector<UnitRequest>& requests) override;

  /// Why the first look ended the campaign; empty: it did not.
  const std::optional<Error>& refusal() const { return refusal_; }

 private:
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
  Mutex mutex_;  // units may run together
  CellTurns turns_ GUARDED_BY(mutex_);
  std::set<std::string> cleaned_
      GUARDED_BY(mutex_);  // stores before whose first unit was cleaned up
};

}  // namespace assay

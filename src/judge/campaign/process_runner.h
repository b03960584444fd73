// Units as processes: starts assay in the environment, reads its lines, keeps its records.
#pragma once

#include <filesystem>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "judge/campaign/campaign.h"
#include "judge/campaign/plan.h"
#include "judge/campaign/unit_output.h"
#include "measure/store/store.h"
#include "ranks/environments/control_group.h"

namespace assay {

/// assay's arguments that measure the unit of `environment` in `pair`, from 0. `barrier`: empty, or
/// the value of `assay run --barrier`. `again`: as for commands_of_unit().
std::vector<std::string> unit_arguments(const CampaignPlan& plan,
                                        const PlannedEnvironment& environment, std::size_t pair,
                                        const std::string& barrier, bool again = false);

/// `member`: the store and the plan's environment. `folder`: the campaign's.
LaunchContext launch_context(const CampaignPlan& plan, const Member& member,
                             const std::filesystem::path& folder);

class ProcessRunner final : public UnitRunner {
 public:
  /// `folder`: the campaign's, absolute. `stop_requested` is called from several threads.
  ProcessRunner(const CampaignPlan& plan, std::filesystem::path folder,
                std::function<bool()> stop_requested);

  std::vector<UnitResult> run(const std::vector<UnitRequest>& requests) override;

 private:
  UnitResult run_one(const UnitRequest& request, const std::string& barrier);
  Status run_process(const UnitRequest& request, const std::string& barrier, UnitResult& result);
  Status refuse_other_kind(const Member& member, const UnitOutput& output);
  Status prepare(const Member& member, const LaunchContext& context,
                 const std::vector<std::string>& cleanup);

  const CampaignPlan& plan_;
  const std::filesystem::path folder_;
  const std::function<bool()> stop_requested_;
  std::mutex mutex_;                // guards the members below: units may run together
  std::set<std::string> prepared_;  // stores whose environment is prepared
  std::string emulated_, real_;     // the first environment with such a device; empty: none yet
};

}  // namespace assay

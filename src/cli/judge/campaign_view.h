// The output of `assay campaign` during and after the run.
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/progress.h"
#include "cli/terminal.h"
#include "core/mutex.h"
#include "judge/campaign/campaign.h"
#include "judge/campaign/campaign_writer.h"
#include "judge/campaign/partition_study.h"
#include "judge/compare/disturbance.h"

namespace assay::cli {

/// Stores every unit, then shows it: on a terminal a progress bar, elsewhere a line per unit on
/// standard error, and with --json the unit's line on standard output.
class CampaignView final : public CampaignObserver {
 public:
  /// `spent_seconds`: the part of the budget that earlier processes spent.
  CampaignView(Terminal& terminal, CampaignFolder& folder, const CampaignDesign& design,
               double spent_seconds, bool json);

  void starting(const std::vector<UnitRequest>& requests) override;
  Status finished(const UnitLine& line) override;
  void looked(std::size_t pairs, std::size_t precise, std::size_t contrasts) override;
  void gave_up(const Arm& arm) override;
  /// Returns true after an interrupt, if standard output cannot be written, and when the budget is
  /// exceeded by 5%. Any thread may call it.
  bool stop_requested() override;
  /// Returns whether it was the budget that asked to stop.
  bool budget_is_spent() const { return budget_is_spent_; }

  /// Removes the progress bar from the screen.
  void clear();
  /// Shows lines beside the progress bar.
  void say(const std::string& text);
  /// Returns "vm failed three times in a row, at last: it exited with status 255: ...", about the
  /// environment that the campaign gave up most recently; empty if it gave up none.
  const std::string& last_failure() const { return last_failure_; }
  /// Attempts after a unit's first; units that are measured together count as one.
  std::size_t retries() const { return retries_; }
  /// Returns "other programs and the hypervisor used up to 63% of the CPUs' time in 14 of 40 units"
  /// and what that means; empty if used_by_others() (judge/compare/disturbance.h) returns nothing.
  std::string disturbance_text() const;
  double elapsed_seconds() const;

 private:
  void draw();

  using Clock = std::chrono::steady_clock;
  Terminal& terminal_;
  CampaignFolder& folder_;
  const CampaignDesign& design_;
  const double spent_seconds_;
  const bool json_;
  const Clock::time_point begin_ = Clock::now();
  Progress progress_;
  std::size_t first_position_ = 0, retries_ = 0;
  Disturbance disturbance_;                     // over units for which it is known
  std::map<std::string, std::string> reasons_;  // why each environment's last unit failed
  std::string last_failure_;
  bool started_ = false;
  Mutex stop_mutex_;  // held while a message about stopping is printed
  bool announced_stop_ GUARDED_BY(stop_mutex_) = false;
  std::atomic<bool> budget_is_spent_ = false;
};

/// Returns "12 pairs after 3:20: every cell is precise enough", how to continue if a limit came
/// first, and a line for each kind of problem.
std::string campaign_text(const CampaignOutcome& outcome, std::size_t retries, double seconds);

/// A table for each of a study's cells and a line about it.
std::string study_text(const std::vector<StudyCell>& cells, std::size_t width, const Style& style);

}  // namespace assay::cli

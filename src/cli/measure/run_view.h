// The output of `assay run` while it measures, and the storing of its records.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "cli/progress.h"
#include "cli/terminal.h"
#include "measure/sampling/runner.h"
#include "results/record/cost.h"
#include "results/store/store.h"

namespace assay::cli {

/// Stores every record if there is a store, then shows it: on a terminal a progress bar, elsewhere
/// a line per cell on standard error, and with --json the record as a line on standard output.
/// `names` are what progress calls the cells, in their order.
class RunView final : public RunObserver {
 public:
  RunView(Terminal& terminal, Store* store, std::vector<std::string> names,
          std::optional<double> budget_seconds, bool json, std::optional<Price> price = {});

  void starting(std::size_t index, const Cell& cell) override;
  Status finished(std::size_t index, Record record) override;
  /// Returns true after an interrupt, or if standard output cannot be written.
  bool stop_requested() override;
  /// Stores and shows the record and ends the process, because the measuring thread is stuck. The
  /// exit status is exit_cell_error, or exit_io if the record could not be stored.
  [[noreturn]] void hung(std::size_t index, Record record) override;

  /// Removes the progress bar from the screen.
  void clear();
  /// Returns the records as shown, with costs. They keep only throttled samples, and no
  /// readings of telemetry; the store keeps all.
  const std::vector<Record>& records() const { return records_; }
  double elapsed_seconds() const;

 private:
  void draw();

  using Clock = std::chrono::steady_clock;
  Terminal& terminal_;
  Store* store_;  // null: records go only to standard output
  std::vector<std::string> names_;
  bool json_;
  std::optional<Price> price_;  ///< of the costs in what is shown
  Progress progress_;
  std::vector<Record> records_;
  const Clock::time_point begin_ = Clock::now();
  Clock::time_point drawn_;
  bool announced_stop_ = false;
};

}  // namespace assay::cli

#include "cli/measure/run_view.h"

#include <fmt/format.h>

#include <cstdlib>

#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "cli/results_view.h"
#include "core/json.h"
#include "results/store/record_json.h"

namespace assay::cli {
namespace {

constexpr std::chrono::milliseconds redraw_interval{100};

}  // namespace

RunView::RunView(Terminal& terminal, Store* store, std::vector<std::string> names,
                 std::optional<double> budget_seconds, bool json, std::optional<Price> price)
    : terminal_(terminal), store_(store), names_(std::move(names)), json_(json), price_(price) {
  progress_.total = names_.size();
  progress_.budget_seconds = budget_seconds;
}

double RunView::elapsed_seconds() const {
  return std::chrono::duration<double>(Clock::now() - begin_).count();
}

void RunView::draw() {
  if (!terminal_.interactive()) return;
  progress_.elapsed_seconds = elapsed_seconds();
  const auto width = static_cast<std::size_t>(terminal_.error_width());
  // One column less than available: some terminals wrap after writing the last column.
  terminal_.rewrite_line(progress_line(progress_, width - 1, terminal_.error_style()));
  drawn_ = Clock::now();
}

void RunView::clear() {
  terminal_.rewrite_line("");
}

void RunView::starting(std::size_t index, const Cell&) {
  progress_.done = index;
  progress_.label = names_[index];
  draw();
}

Status RunView::finished(std::size_t index, Record record) {
  if (store_ != nullptr) TRY(store_->append(record));
  add_costs(record, price_);
  progress_.done = index + 1;
  if (!terminal_.interactive()) {
    terminal_.note(fmt::format("[{}/{}] {}: {}\n", progress_.done, progress_.total, names_[index],
                               outcome_text(record, terminal_.error_style())));
  }
  if (json_) {
    terminal_.print(json_line(to_json(record)) + "\n");
    terminal_.flush();
  }
  draw();
  // A sweep may have thousands of cells, of whose samples the table needs only a few flags.
  if (record.samples) {
    for (Sample& sample : record.samples->samples) sample.clock_hz.reset();
    std::erase_if(record.samples->samples, [](const Sample& sample) { return !sample.throttled; });
  }
  if (record.telemetry) record.telemetry->trace = {};
  records_.push_back(std::move(record));
  return {};
}

bool RunView::stop_requested() {
  if (interrupt_requested()) {
    if (!announced_stop_) {
      clear();
      terminal_.note("stopping; results so far are stored (interrupt again to stop at once)\n");
      announced_stop_ = true;
    }
    return true;
  }
  if (terminal_.output_failed()) return true;
  if (terminal_.interactive() && Clock::now() - drawn_ >= redraw_interval) draw();
  return false;
}

void RunView::hung(std::size_t index, Record record) {
  const Status stored = finished(index, std::move(record));
  clear();
  terminal_.complain(stored.ok()
                         ? records_.back().reason + "; the run ends here, results so far are stored"
                         : stored.error().message);
  terminal_.flush();
  std::_Exit(stored.ok() ? exit_cell_error : exit_io);
}

}  // namespace assay::cli

#include "cli/judge/campaign_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/cell_names.h"
#include "cli/interrupt.h"
#include "cli/results_view.h"
#include "cli/table.h"
#include "core/units.h"
#include "judge/campaign/plan.h"

namespace assay::cli {
namespace {

// A last unit may exceed the budget by this factor.
constexpr double most_overrun = 1.05;

std::string_view reason_text(CampaignStop stop) {
  switch (stop) {
    case CampaignStop::precise:
      return "every cell is precise enough";
    case CampaignStop::most_pairs:
      return "the plan asks for no more pairs";
    case CampaignStop::budget:
      return "the budget has no time for more";
    case CampaignStop::interrupted:
      return "interrupted; the same command continues it";
    case CampaignStop::failed:
      break;
  }
  return "no environments are left to compare";
}

std::string value_text(double value, const std::string& unit) {
  if (unit == "s") return format_seconds(value);
  return format_rate(value, unit == "bytes/s" ? "B/s" : unit);
}

std::string percent(double ratio) {
  return std::isfinite(ratio) ? fmt::format("{:.1f}%", ratio * 100) : "?";
}

std::string ratio_text(const StudyRatio& ratio) {
  return fmt::format("{} [{}, {}]", percent(ratio.ratio), percent(ratio.interval95.low),
                     percent(ratio.interval95.high));
}

}  // namespace

CampaignView::CampaignView(Terminal& terminal, CampaignFolder& folder, const CampaignDesign& design,
                           double spent_seconds, bool json)
    : terminal_(terminal),
      folder_(folder),
      design_(design),
      spent_seconds_(spent_seconds),
      json_(json) {
  progress_.budget_seconds = design.budget_seconds;
}

double CampaignView::elapsed_seconds() const {
  return std::chrono::duration<double>(Clock::now() - begin_).count();
}

void CampaignView::draw() {
  if (!terminal_.interactive()) return;
  progress_.elapsed_seconds = elapsed_seconds();
  const auto width = static_cast<std::size_t>(terminal_.error_width());
  terminal_.rewrite_line(progress_line(progress_, width - 1, terminal_.error_style()));
}

void CampaignView::clear() {
  terminal_.rewrite_line("");
}

void CampaignView::say(const std::string& text) {
  clear();
  terminal_.note(text);
  draw();
}

void CampaignView::starting(const std::vector<UnitRequest>& requests) {
  const UnitRequest& first = requests.front();
  const std::size_t arms = design_.schedule.arms.size();
  // Counts the units of this process only, so that the time left follows from the time it took.
  if (!started_) first_position_ = first.position;
  started_ = true;
  const std::size_t whole_block =
      (first.pair / design_.pairs_per_draw + 1) * design_.pairs_per_draw;
  progress_.total = std::max(design_.least_pairs, whole_block) * arms - first_position_;
  progress_.done = first.position - first_position_;
  progress_.label = fmt::format("pair {} {}", first.pair, first.member.environment);
  if (requests.size() > 1) progress_.label += fmt::format(" and {} more", requests.size() - 1);
  if (first.attempt > 1) ++retries_;
  draw();
}

Status CampaignView::finished(const UnitLine& line) {
  TRY(folder_.append(line));
  if (json_) {
    terminal_.print(to_line(line) + "\n");
    terminal_.flush();
  }
  if (line.taken_share) disturbance_.add(*line.taken_share);
  const std::string what = fmt::format("pair {} {}", line.unit.pair, line.unit.environment);
  if (!line.unit.complete) {
    reasons_[line.unit.environment] = line.reason;
    say(fmt::format("{}: attempt {} failed: {}\n", what, line.attempt, line.reason));
  } else if (!terminal_.interactive()) {
    terminal_.note(fmt::format("{}: {}{}\n", what, format_seconds(line.seconds),
                               line.reason.empty() ? "" : ", " + line.reason));
  }
  return {};
}

void CampaignView::looked(std::size_t pairs, std::size_t precise, std::size_t contrasts) {
  if (terminal_.interactive()) return;
  terminal_.note(fmt::format("{} pair{}: {} of {} cells are precise enough\n", pairs,
                             pairs == 1 ? "" : "s", precise, contrasts));
}

void CampaignView::gave_up(const Arm& arm) {
  std::vector<std::string> names;
  for (const Member& member : arm) names.push_back(member.environment);
  const std::string failed = fmt::format("{} failed three times in a row", fmt::join(names, ", "));
  last_failure_ = fmt::format("{}, at last: {}", failed, reasons_[names.front()]);
  say(failed + " and is left out from here on\n");
}

bool CampaignView::stop_requested() {
  if (budget_is_spent_) return true;
  const bool stop = interrupt_requested() || terminal_.output_failed();
  // A pair that is expected to exceed the budget is not begun; this ends one that takes longer than
  // the pairs before it. Units that earlier processes measured cost nothing.
  const bool spent = started_ && design_.budget_seconds &&
                     spent_seconds_ + elapsed_seconds() > *design_.budget_seconds * most_overrun;
  if (!stop && !spent) return false;
  const MutexLock guard(stop_mutex_);
  if (!stop) {
    budget_is_spent_ = true;
  } else if (!announced_stop_) {
    announced_stop_ = true;
    say("stopping; finished units are kept (interrupt again to stop at once)\n");
  }
  return true;
}

std::string CampaignView::disturbance_text() const {
  const std::string text = used_by_others(disturbance_, "units");
  return text.empty() ? text : fmt::format("{}: {}\n", text, quieter_proves_more);
}

std::string campaign_text(const CampaignOutcome& outcome, std::size_t retries, double seconds) {
  std::string text = fmt::format("{} pairs after {}: {}\n", outcome.pairs, format_clock(seconds),
                                 reason_text(outcome.stop));
  const bool limited =
      outcome.stop == CampaignStop::budget || outcome.stop == CampaignStop::most_pairs;
  const bool may_continue = outcome.pairs > 0 && outcome.pairs < most_campaign_pairs;
  if (limited && may_continue && outcome.precise < outcome.contrasts) {
    text += fmt::format(
        "{} of {} cells are precise enough; the same command with --pairs {} continues\n",
        outcome.precise, outcome.contrasts, std::min(2 * outcome.pairs, most_campaign_pairs));
  }
  if (retries > 0) text += fmt::format("{} units were retried\n", retries);
  if (!outcome.given_up.empty()) {
    text += fmt::format("permanently failed: {}\n", fmt::join(outcome.given_up, ", "));
  }
  return text;
}

std::string study_text(const std::vector<StudyCell>& cells, std::size_t width, const Style& style) {
  using Align = Column::Align;
  const CellNames names = cell_names(cells, [](const StudyCell& cell) { return cell.cell; });
  std::string text = heading_text(names, width, 0);
  bool emulated = false;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const StudyCell& cell = cells[i];
    emulated = emulated || cell.emulated;
    const auto shown = [&](double value) {
      return std::string(model_mark(cell.emulated)) + value_text(value, cell.unit);
    };
    text += style.bold(fmt::format("{} {}", names.names[i], cell.metric)) + "\n";
    Table table({{"partition"},
                 {"alone", Align::right},
                 {"together", Align::right},
                 {"together / alone", Align::left}});
    for (const StudyPart& part : cell.parts) {
      table.add({part.environment, shown(part.alone), shown(part.together),
                 ratio_text(part.interference)});
    }
    text += table.render(width, style);
    text += fmt::format("  worst together: {}", cell.worst);
    if (cell.sum) text += fmt::format("; sum {}", shown(*cell.sum));
    if (cell.whole) text += fmt::format("; whole device {}", shown(*cell.whole));
    if (cell.sum_to_whole) text += fmt::format("; sum / whole {}", ratio_text(*cell.sum_to_whole));
    text += "\n\n";
  }
  return emulated ? text + model_footnote + "\n" : text;
}

}  // namespace assay::cli

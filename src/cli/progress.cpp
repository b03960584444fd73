#include "cli/progress.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/screen_text.h"
#include "core/units.h"

namespace assay::cli {

double seconds_left(const Progress& progress) {
  const auto cells_left = static_cast<double>(progress.total - progress.done);
  const double each = progress.done > 0
                          ? progress.elapsed_seconds / static_cast<double>(progress.done)
                          : usual_cell_seconds;
  const double left = each * cells_left;
  if (!progress.budget_seconds) return left;
  return std::clamp(*progress.budget_seconds - progress.elapsed_seconds, 0.0, left);
}

std::string progress_line(const Progress& progress, std::size_t width, const Style& style) {
  const std::string count = fmt::format("{:>{}}/{}", progress.done,
                                        std::to_string(progress.total).size(), progress.total);
  const std::string left = format_clock(seconds_left(progress)) + " left";
  const std::string facts = fmt::format("{}  {}  ", count, left);
  constexpr std::size_t bar_columns = 24;
  std::string bar;
  // A narrow terminal keeps the numbers and loses the bar.
  if (width >= bar_columns + facts.size() + 20 && progress.total > 0) {
    const std::size_t filled = bar_columns * progress.done / progress.total;
    bar = fmt::format("[{}{}]  ", std::string(filled, '#'), std::string(bar_columns - filled, '-'));
  }
  const std::size_t used = bar.size() + facts.size();
  if (used >= width) return shorten(facts, width);
  return style.green(bar) + facts + style.dim(shorten(progress.label, width - used));
}

}  // namespace assay::cli

#include "cli/advise/tune_tables.h"

#include <fmt/format.h>

#include "cli/table.h"
#include "core/units.h"

namespace assay::cli {

std::string listed_text(const char* what, std::span<const ListedProblem> problems,
                        std::size_t width, const Style& style) {
  Table table({{what}, {"calls", Column::Align::right}, {"at the roofline", Column::Align::right}});
  for (const ListedProblem& problem : problems) {
    table.add({problem.name, std::to_string(problem.calls),
               problem.seconds
                   ? format_seconds(*problem.seconds * static_cast<double>(problem.calls))
                   : "-"});
  }
  return table.render(width, style);
}

std::string gain_text(double gain, double low, double high) {
  return fmt::format("{:+.1f}% [{:+.1f}, {:+.1f}]", (gain - 1) * 100, (low - 1) * 100,
                     (high - 1) * 100);
}

std::string roofs_text(std::optional<double> floor_seconds, double before_seconds,
                       std::optional<double> after_seconds) {
  if (!floor_seconds) return "";
  const auto share = [&](double seconds) {
    return fmt::format("{:.0f}%", *floor_seconds / seconds * 100);
  };
  const std::string before = share(before_seconds);
  return after_seconds ? before + " -> " + share(*after_seconds) : before;
}

std::string sum_text(std::size_t faster, std::size_t measured, const char* what,
                     double before_seconds, double after_seconds) {
  return fmt::format("{} of {} {} faster; all calls {} before, {} after ({:+.1f}%)\n", faster,
                     measured, what, format_seconds(before_seconds), format_seconds(after_seconds),
                     after_seconds > 0 ? (before_seconds / after_seconds - 1) * 100 : 0);
}

}  // namespace assay::cli

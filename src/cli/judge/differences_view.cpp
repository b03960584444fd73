#include "cli/judge/differences_view.h"

#include <fmt/format.h>

#include "cli/table.h"
#include "core/json.h"

namespace assay::cli {
namespace {

std::string short_text(const Json& value, const Style& style) {
  if (value.is_null()) return style.dim("absent");
  if (value.is_string()) return value.get<std::string>();
  return json_line(value);
}

}  // namespace

std::string differences_text(const std::vector<Difference>& differences, std::size_t width,
                             const Style& style) {
  if (differences.empty()) return "no difference\n";
  Table table({{"likely"}, {"fact"}, {"A"}, {"B"}, {"why it may matter", Column::Align::left, 1}});
  for (const Difference& difference : differences) {
    std::string likelihood(name_of(difference.likelihood));
    if (difference.likelihood == Likelihood::high) likelihood = style.bold(likelihood);
    table.add({likelihood, difference.path, short_text(difference.a, style),
               short_text(difference.b, style), difference.why});
  }
  return table.render(width, style, 0) +
         fmt::format("{} difference{}\n", differences.size(), differences.size() == 1 ? "" : "s");
}

}  // namespace assay::cli

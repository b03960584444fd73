#include "judge/report/traces/difference_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "core/shown_text.h"
#include "core/version.h"
#include "judge/report/number_text.h"
#include "judge/trace/nanoseconds_text.h"

namespace assay::report {
namespace {

constexpr std::size_t most_steps = 12, most_kernels = 200, longest_kernel = 200;

/// "A step takes 7.1 ms in A and 9.9 ms in B, 1.40x as long: gemm +2.0 ms, idle +0.6 ms."
std::string difference_sentence(const TraceDifference& difference) {
  constexpr std::size_t most_named = 4;
  constexpr double least_share = 0.005;
  std::string parts;
  for (std::size_t i = 0; i < std::min(most_named, difference.categories.size()); ++i) {
    const PartDifference& part = difference.categories[i];
    if (std::abs(part.share) < least_share) break;
    parts += fmt::format("{} {} {}", parts.empty() ? ":" : ",", part.name,
                         nanoseconds_change(part.b - part.a));
  }
  return fmt::format("A step takes {} in A and {} in B, {:.2f}x as long{}.",
                     nanoseconds_text(difference.step.a), nanoseconds_text(difference.step.b),
                     difference.ratio, parts);
}

std::string kernel_label(const PartDifference& part) {
  const std::string name = part.name.empty() ? "(none)" : shown_line(part.name, longest_kernel);
  return part.other_name.empty() ? name
                                 : name + " | " + shown_line(part.other_name, longest_kernel);
}

Table parts_table(const std::vector<PartDifference>& parts, std::size_t most, bool kernels) {
  Table table;
  table.columns = {
      {"what", kernels ? "kernel" : "category"}, {"a", "A", ColumnKind::measured},
      {"b", "B", ColumnKind::measured},          {"difference", "B - A", ColumnKind::measured},
      {"unit", "unit", ColumnKind::unit},        {"share", "of A's step", ColumnKind::share}};
  if (kernels) {
    table.columns.insert(table.columns.begin() + 1, {"category", "category"});
    // They are averages over steps, mostly whole numbers.
    const bool whole = std::ranges::all_of(parts, [](const PartDifference& part) {
      return part.count_a == std::round(part.count_a) && part.count_b == std::round(part.count_b);
    });
    const ColumnKind kind = whole ? ColumnKind::count : ColumnKind::number;
    table.columns.push_back({"count_a", "count A", kind, "1"});
    table.columns.push_back({"count_b", "count B", kind, "1"});
  }
  const bool judged = std::ranges::any_of(
      parts, [](const PartDifference& part) { return part.judged.has_value(); });
  if (judged) {
    table.columns.push_back({"verdict", "verdict", ColumnKind::verdict});
    table.columns.push_back({"ratio", "B over A", ColumnKind::number, "1"});
    table.columns.push_back({"low", "95% from", ColumnKind::number, "1"});
    table.columns.push_back({"high", "to", ColumnKind::number, "1"});
  }
  for (std::size_t i = 0; i < std::min(most, parts.size()); ++i) {
    const PartDifference& part = parts[i];
    std::vector<Field> row = {kernels ? kernel_label(part) : shown_line(part.name, longest_kernel)};
    if (kernels) row.emplace_back(part.category);
    row.insert(row.end(), {part.a, part.b, part.b - part.a, "ns", part.share});
    if (kernels) row.insert(row.end(), {part.count_a, part.count_b});
    if (judged) {
      if (part.judged) {
        const PairedEffect& effect = part.judged->effect;
        row.emplace_back(std::string(name_of(part.judged->ruling.verdict)));
        row.insert(row.end(),
                   {std::exp(effect.mean), std::exp(effect.t95.low), std::exp(effect.t95.high)});
      } else {
        row.resize(table.columns.size());
      }
    }
    table.rows.push_back(std::move(row));
  }
  scale_columns(table);
  return table;
}

}  // namespace

Chart waterfall_chart(const TraceDifference& difference) {
  Chart chart;
  chart.kind = ChartKind::waterfall;
  chart.title = "From a step of A to a step of B";
  Table& table = chart.table;
  table.id = "picture";
  table.caption = chart.title;
  table.columns = {{"what", "part"},
                   {"kind", "kind"},
                   {"begin", "from", ColumnKind::number, "ns"},
                   {"end", "to", ColumnKind::number, "ns"}};
  const double a = std::round(difference.step.a), b = std::round(difference.step.b);
  table.rows.push_back({"a step of A", "total", 0.0, a});
  double exact = difference.step.a, begin = a;
  const auto add = [&](const std::string& name, double change) {
    exact += change;
    double end = std::round(exact);
    if (std::abs(end - b) <= 1) end = b;  // sums of doubles are not exact
    if (end != begin) {
      table.rows.push_back({name, end > begin ? "more" : "less", begin, end});
    }
    begin = end;
  };
  double rest = 0;
  std::size_t unnamed = 0;
  for (std::size_t i = 0; i < difference.categories.size(); ++i) {
    const PartDifference& part = difference.categories[i];
    if (i < most_steps) {
      add(shown_line(part.name, longest_kernel), part.b - part.a);
    } else {
      rest += part.b - part.a;
      ++unnamed;
    }
  }
  if (unnamed > 0) add(counted(unnamed, "smaller part"), rest);
  if (begin != b) add("medians need not add up", b - exact);
  table.rows.push_back({"a step of B", "total", 0.0, b});
  scale_columns(table);
  chart.settings = Json::object();
  chart.summary =
      "Each bar begins where the one above it ends, so the changes lead from A's step to B's.";
  return chart;
}

Document difference_document(const TraceDifference& difference, const std::string& a,
                             const std::string& b, const std::string& time) {
  Document document;
  document.question = fmt::format("What makes a step of {} take {:.2f}x as long as one of {}?",
                                  shown_line(b, 100), difference.ratio, shown_line(a, 100));
  Answer answer;
  answer.sentence = difference_sentence(difference);
  answer.proven = difference.step.judged.has_value();
  if (difference.step.judged) answer.verdict = difference.step.judged->ruling.verdict;
  document.answers = {std::move(answer)};
  document.picture = MainChart{waterfall_chart(difference), "Kernel by kernel", "kernels"};
  document.cards = {
      {"The sides",
       {fmt::format("A: {}, {}", shown_line(a, 100), counted(difference.traces_a, "trace")),
        fmt::format("B: {}, {}", shown_line(b, 100), counted(difference.traces_b, "trace"))}},
      {"How to read it",
       {"Every moment of a step belongs to one part: to the kernel that computes, else to the "
        "collective, else to the copy, else it is idle."}}};
  for (const std::string& note : difference.notes) {
    document.notes.push_back(shown_line(note, 500));
  }
  Table categories = parts_table(difference.categories, SIZE_MAX, false);
  categories.id = "categories-table";
  categories.caption = "Parts of a step by category, largest difference first";
  document.headline = categories;
  document.headline->id = "headline-table";
  Chapter by_category{"categories", "Category by category", "Categories"};
  by_category.blocks.emplace_back(std::move(categories));
  Chapter by_kernel{"kernels", "Kernel by kernel", "Kernels"};
  by_kernel.paragraphs = {
      "Kernels are matched by name. Those of one side only are matched by category and by how "
      "often a step launches them, which is a guess: \"A's name | B's name\"."};
  Table kernels = parts_table(difference.kernels, most_kernels, true);
  kernels.id = "kernels-table";
  kernels.caption = difference.kernels.size() > most_kernels
                        ? fmt::format("The {} largest differences of {} kernels", most_kernels,
                                      difference.kernels.size())
                        : "Kernels of a step, largest difference first";
  by_kernel.blocks.emplace_back(std::move(kernels));
  document.chapters = {std::move(by_category), std::move(by_kernel)};
  document.made_by = fmt::format("assay {} ({}), {}", version(), git_hash(), time);
  return document;
}

}  // namespace assay::report

#include "judge/report/traces/trace_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "core/shown_text.h"
#include "core/version.h"
#include "judge/report/number_text.h"
#include "judge/report/traces/trace_charts.h"
#include "judge/trace/nanoseconds_text.h"
#include "judge/trace/traced_operations.h"

namespace assay::report {
namespace {

constexpr std::size_t longest_operation = 200, most_operations = 60, most_headline = 8;
/// The printed first page has room for a line of each name.
constexpr std::size_t longest_headline = 45;
/// A page has room for no more; this many rectangles zoom smoothly, too.
constexpr std::size_t most_blocks = 4000;

/// The costliest category of kernels: " (most of it matrix products)"; empty if no rule knows it.
std::string largest_category(const std::vector<TracedOperation>& costs) {
  std::map<std::string, std::int64_t> categories;
  for (const TracedOperation& cost : costs) {
    if (cost.category == "collective" || cost.category == "copy") continue;
    std::int64_t& total = categories[cost.category];
    total = add_saturated(total, cost.total);
  }
  const auto largest =
      std::max_element(categories.begin(), categories.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (largest == categories.end() || largest->first == "other") return {};
  const std::string_view kind = kind_of_work(largest->first);
  return fmt::format(" (most of it {})", kind == other_kernels
                                             ? fmt::format("{} kernels", largest->first)
                                             : std::string(kind));
}

/// "idle (the host came late)" for "idle: the host came late", whose comma or colon would be one
/// among others in a list.
std::string phrase_of(std::string_view part) {
  const std::size_t mark = part.find_first_of(":,");
  if (mark == part.npos) return std::string(part);
  return fmt::format("{} ({})", part.substr(0, mark), part.substr(mark + 2));
}

/// The answer: "Of a step of 3.5 ms, 85.7% is idle (the host came late), 11.1% computing."
std::string time_sentence(const ShownStep& step, const std::vector<TracedOperation>& costs) {
  std::vector<TimePart> parts;
  std::int64_t span = 0, longest = 0;
  for (const StepOfGpu& gpu : step.gpus) {
    const std::vector<TimePart> of_gpu = parts_of(gpu.times);
    if (parts.empty()) {
      parts = of_gpu;
    } else {
      for (std::size_t i = 0; i < parts.size(); ++i) {
        parts[i].time = add_saturated(parts[i].time, of_gpu[i].time);
      }
    }
    span = add_saturated(span, gpu.times.span);
    longest = std::max(longest, gpu.times.span);
  }
  std::stable_sort(parts.begin(), parts.end(),
                   [](const TimePart& a, const TimePart& b) { return a.time > b.time; });
  std::string text;
  for (const TimePart& part : parts) {
    const double share = span > 0 ? static_cast<double>(part.time) / static_cast<double>(span) : 0;
    if (share < 0.005) continue;
    text += fmt::format("{} {:.1f}% {}{}{}", text.empty() ? "" : ",", 100 * share,
                        text.empty() ? "is " : "", phrase_of(part.name),
                        part.name == "computing" ? largest_category(costs) : "");
  }
  return fmt::format(
      "Of {} of {}{},{}.", step.name.empty() ? "a recording" : "a step", nanoseconds_text(longest),
      step.gpus.size() > 1 ? fmt::format(" on {} GPUs", step.gpus.size()) : "", text);
}

/// The answer for traces of hosts only.
std::string sentence_without_gpus(const ShownStep& step) {
  const std::string none = "The trace has no work of a GPU, so nothing can be said of its time";
  if (step.hosts.empty()) return none + ".";
  std::int64_t longest = 0;
  for (const StepOfTrace& host : step.hosts) longest = std::max(longest, host.window.size());
  return fmt::format("{}; the timeline shows what the host did in {} of {}.", none,
                     step.name.empty() ? "a recording" : "a step", nanoseconds_text(longest));
}

/// Removes columns of rates and times in which no row has more than 0.
void drop_empty_columns(Table& table) {
  for (std::size_t i = table.columns.size(); i-- > 0;) {
    const ColumnKind kind = table.columns[i].kind;
    if (kind != ColumnKind::number && kind != ColumnKind::measured) continue;
    const bool used = std::ranges::any_of(table.rows, [&](const std::vector<Field>& row) {
      const double* number = std::get_if<double>(&row[i]);
      return number != nullptr && *number > 0;
    });
    if (used) continue;
    const auto at = static_cast<std::ptrdiff_t>(i);
    table.columns.erase(table.columns.begin() + at);
    for (std::vector<Field>& row : table.rows) row.erase(row.begin() + at);
  }
}

Table operations_table(const std::vector<TracedOperation>& costs, std::size_t most,
                       std::size_t longest_name) {
  Table table;
  table.id = "operations-table";
  table.caption = costs.size() > most
                      ? fmt::format("The {} costliest of {} operations", most, costs.size())
                      : counted(costs.size(), "operation");
  table.columns = {{"what", "operation"},
                   {"category", "category"},
                   {"count", "count", ColumnKind::count},
                   {"median", "median", ColumnKind::measured},
                   {"total", "total", ColumnKind::measured},
                   {"unit", "unit", ColumnKind::unit},
                   {"share", "of the step", ColumnKind::share},
                   {"flop_rate", "computes", ColumnKind::number, "FLOP/s"},
                   {"byte_rate", "moves", ColumnKind::number, "bytes/s"}};
  const auto field = [](const std::optional<double>& rate) {
    return rate ? Field(*rate) : Field();
  };
  for (std::size_t i = 0; i < std::min(most, costs.size()); ++i) {
    const TracedOperation& cost = costs[i];
    table.rows.push_back({shown_line(cost.name, longest_name), cost.category,
                          static_cast<double>(cost.count), static_cast<double>(cost.median),
                          static_cast<double>(cost.total), "ns", cost.share, field(cost.flop_rate),
                          field(cost.byte_rate)});
  }
  drop_empty_columns(table);
  scale_columns(table);
  return table;
}

Table gpus_table(const ShownStep& step) {
  Table table;
  table.id = "gpus-table";
  table.caption = "Time of each GPU in this step";
  table.columns = {
      {"what", "GPU"}, {"unit", "unit", ColumnKind::unit}, {"step", "step", ColumnKind::measured}};
  for (const TimePart& part : parts_of({})) {
    table.columns.push_back({std::string(part.name), std::string(part.name), ColumnKind::measured});
  }
  for (const StepOfGpu& gpu : step.gpus) {
    std::vector<Field> row = {shown_line(gpu_label(step, gpu), longest_operation), "ns",
                              static_cast<double>(gpu.times.span)};
    for (const TimePart& part : parts_of(gpu.times))
      row.emplace_back(static_cast<double>(part.time));
    table.rows.push_back(std::move(row));
  }
  drop_empty_columns(table);
  return table;
}

Card recorded_card(const ReadTraces& read) {
  Card card{"Recorded", {}};
  std::set<std::string> products, formats;
  for (const TraceReport& one : read.reports) {
    formats.insert(one.format);
    for (const DeviceReport& device : one.devices) {
      if (!device.product.empty()) products.insert(shown_line(device.product, 100));
    }
  }
  const ShownStep& step = read.step;
  std::string gpus = counted(step.gpus.size(), "GPU");
  for (const std::string& product : products) gpus += ", " + product;
  card.lines.push_back(gpus);
  for (const std::string& format : formats) {
    card.lines.push_back(
        fmt::format("{}, read as {}", counted(read.reports.size(), "trace"), format));
  }
  card.lines.push_back(step.name.empty() ? "the trace names no steps, so all of it is shown"
                                         : fmt::format("step {} of {}, {}", step.number, step.all,
                                                       shown_line(step.name, 100)));
  const std::optional<int> world = read.reports.front().world_size;
  if (world && read.reports.size() > 1 && read.reports.size() < static_cast<std::size_t>(*world)) {
    card.lines.push_back(fmt::format("{} of the job's {} ranks", read.reports.size(), *world));
  }
  if (step.without > 0) {
    card.lines.push_back(fmt::format("{} without this step",
                                     counted(step.without, step.gpus.empty() ? "host" : "GPU")));
  }
  return card;
}

Card ranks_card(const RankComparison& ranks) {
  Card card{"Ranks beside each other", {}};
  if (!ranks.problem.empty()) {
    card.lines.push_back("cannot be compared: " + ranks.problem);
    return card;
  }
  card.lines.push_back(fmt::format("{} on all ranks; without waits they take {}",
                                   counted(ranks.matched, "collective"),
                                   nanoseconds_text(ranks.transfer)));
  const auto late =
      std::max_element(ranks.ranks.begin(), ranks.ranks.end(),
                       [](const RankWait& a, const RankWait& b) { return a.caused < b.caused; });
  card.lines.push_back(fmt::format("the others waited longest for rank {}: {} in {} of them",
                                   late->rank, nanoseconds_text(late->caused), late->came_last));
  return card;
}

/// Returns the advice of all traces, largest gain first, the same advice once. Collectives seem to
/// cost the waits for a straggler, too, and tuning them does not end these. So the advice about the
/// straggler comes first if it is most of the largest gain.
Card advice_card(const ReadTraces& read) {
  constexpr std::size_t most_advice = 3;
  std::vector<TraceAdvice> advice = read.rank_advice;
  for (const TraceReport& one : read.reports) {
    for (const DeviceReport& device : one.devices) {
      advice.insert(advice.end(), device.advice.begin(), device.advice.end());
    }
  }
  std::stable_sort(advice.begin(), advice.end(),
                   [](const TraceAdvice& a, const TraceAdvice& b) { return a.most > b.most; });
  if (!read.rank_advice.empty() && 2 * read.rank_advice.front().share > advice.front().share) {
    advice.insert(advice.begin(), read.rank_advice.front());
  }
  Card card{"What to do", {}};
  std::set<std::string> seen;
  for (const TraceAdvice& one : advice) {
    if (card.lines.size() == most_advice || !seen.insert(one.what).second) continue;
    card.lines.push_back(fmt::format("{}: saves at most {} ({:.0f}%) of all that was recorded",
                                     one.what, nanoseconds_text(one.most), 100 * one.share));
    if (card.command.empty()) card.command = one.command;
  }
  if (card.lines.empty())
    card.lines.emplace_back("nothing that would save a hundredth of the time");
  return card;
}

std::string name_of_traces(const std::vector<TraceReport>& reports) {
  if (reports.size() != 1) return counted(reports.size(), "trace");
  return shown_line(std::filesystem::path(reports.front().file).filename().string(), 100);
}

}  // namespace

Document trace_document(const ReadTraces& read, const std::string& time) {
  const ShownStep& step = read.step;
  Document document;
  document.question = fmt::format("Where does the time of {} go?", name_of_traces(read.reports));
  document.made_by = fmt::format("assay {} ({}), {}", version(), git_hash(), time);
  for (const TraceReport& one : read.reports) {
    for (const std::string& note : one.notes) {
      const std::string sentence = shown_line(note, 500);
      if (std::find(document.notes.begin(), document.notes.end(), sentence) ==
          document.notes.end()) {
        document.notes.push_back(sentence);
      }
    }
  }
  document.cards = {recorded_card(read)};
  Chapter timeline{"timeline", "When what ran", "Timeline"};
  if (!step.gpus.empty() || !step.hosts.empty()) {
    timeline.blocks.emplace_back(timeline_chart(step, step_timeline(step, most_blocks)));
  }
  if (step.gpus.empty()) {
    document.answers = {{.lead = "", .sentence = sentence_without_gpus(step), .proven = false}};
    if (!step.hosts.empty()) document.chapters = {std::move(timeline)};
    return document;
  }
  const std::vector<TracedOperation> costs = traced_operations(step);
  document.answers = {{.lead = "", .sentence = time_sentence(step, costs)}};
  document.cards.push_back(advice_card(read));
  if (read.ranks.ranks.size() > 1) document.cards.push_back(ranks_card(read.ranks));
  document.picture = MainChart{breakdown_chart(step), "When what ran", "timeline"};
  document.headline = operations_table(costs, most_headline, longest_headline);
  document.headline->id = "headline-table";

  Chapter operations{"operations", "What the step is made of", "Operations"};
  operations.paragraphs = {
      "Kernels, copies and memsets that begin in the step, on all of its GPUs. Of several streams "
      "each counts in full, so the shares may exceed 100%. Collectives move what their bus "
      "bandwidth says, waits included."};
  operations.blocks.emplace_back(operations_table(costs, most_operations, longest_operation));
  operations.blocks.emplace_back(gpus_table(step));
  Chapter roofs{"roofs", "How near the products are to the hardware's limits", "Roofs"};
  RooflineChart roofline = roofline_chart(step);
  if (roofline.chart) {
    roofs.blocks.emplace_back(*std::move(roofline.chart));
  } else {
    roofs.paragraphs = {roofline.why_not};
  }
  document.chapters = {std::move(timeline), std::move(operations), std::move(roofs)};
  return document;
}

}  // namespace assay::report

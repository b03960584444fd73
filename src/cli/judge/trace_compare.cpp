// assay trace compare: why the steps in some traces take longer than those in others.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "cli/cli.h"
#include "cli/command.h"
#include "cli/compare_operands.h"
#include "cli/judge/trace_output.h"
#include "cli/option_values.h"
#include "cli/screen_text.h"
#include "cli/table.h"
#include "core/json.h"
#include "core/shown_text.h"
#include "core/write_file.h"
#include "judge/report/report.h"
#include "judge/report/traces/difference_document.h"
#include "judge/trace/nanoseconds_text.h"
#include "judge/trace/trace_difference.h"
#include "measure/sampling/runner.h"
#include "results/traces/trace_reader.h"

namespace assay::cli::trace_compare_command {
namespace {

constexpr auto right = Column::Align::right;
constexpr std::size_t longest_name = 80;

/// One file, or a folder with the ranks of one job, is one trace.
Result<StepParts> read_parts(const std::string& path, std::vector<std::string>& notes) {
  const std::vector<Timeline> timelines = TRY(read_traces({path}));
  std::vector<TraceIndex> indices;
  indices.reserve(timelines.size());
  std::vector<const TraceIndex*> ranks;
  for (const Timeline& timeline : timelines) {
    ranks.push_back(&indices.emplace_back(timeline));
    for (const std::string& note : timeline.notes()) notes.push_back(path + ": " + note);
  }
  StepParts parts = step_parts(ranks);
  if (parts.step > 0) return parts;
  return Error{ErrorKind::usage, fmt::format("{} has no work of a GPU, so nothing can be compared: "
                                             "record it with the GPU's kernels",
                                             path)};
}

Result<std::vector<StepParts>> read_side(const std::vector<std::string>& paths,
                                         std::vector<std::string>& notes) {
  std::vector<StepParts> side;
  for (const std::string& path : paths) side.push_back(TRY(read_parts(path, notes)));
  return side;
}

/// "1.04x [1.02, 1.06] SLOWER"; empty if it was not judged.
std::string verdict_text(const PartDifference& part) {
  if (!part.judged) return {};
  const PairedEffect& effect = part.judged->effect;
  return fmt::format("{:.2f}x [{:.2f}, {:.2f}] {}", std::exp(effect.mean), std::exp(effect.t95.low),
                     std::exp(effect.t95.high), name_of(part.judged->ruling.verdict));
}

std::string kernel_name(const std::string& name) {
  return name.empty() ? "(none)" : shown_line(name, longest_name);
}

std::string parts_text(const std::vector<PartDifference>& parts, const std::string& title,
                       std::size_t top, std::size_t width, const Style& style) {
  Table table({{title},
               {"A", right},
               {"B", right},
               {"B - A", right},
               {"of A's step", right},
               {"count A", right, 2},
               {"count B", right, 2},
               {"verdict", Column::Align::left, 3}});
  for (std::size_t i = 0; i < std::min(top, parts.size()); ++i) {
    const PartDifference& part = parts[i];
    const auto count = [](double number) {
      return number > 0 ? fmt::format("{:.6g}", number) : "";
    };
    const std::string name = part.other_name.empty()
                                 ? kernel_name(part.name)
                                 : kernel_name(part.name) + " | " + kernel_name(part.other_name);
    table.add({name, nanoseconds_text(part.a), nanoseconds_text(part.b),
               nanoseconds_change(part.b - part.a), fmt::format("{:+.1f}%", 100 * part.share),
               count(part.count_a), count(part.count_b), verdict_text(part)});
  }
  return table.empty() ? "" : table.render(width, style);
}

/// "of 1.40x: gemm 0.90, idle 0.30, collective 0.20"
std::string headline(const TraceDifference& difference) {
  std::vector<const PartDifference*> parts;
  for (const PartDifference& part : difference.categories) parts.push_back(&part);
  std::stable_sort(parts.begin(), parts.end(),
                   [](const PartDifference* x, const PartDifference* y) { return x->b > y->b; });
  std::string text;
  for (const PartDifference* part : parts) {
    const double share = part->b / difference.step.a;
    if (share < 0.005) continue;
    text += fmt::format("{}{} {:.2f}", text.empty() ? "" : ", ", part->name, share);
  }
  return fmt::format("of {:.2f}x: {}", difference.ratio, text);
}

std::string difference_text(const TraceDifference& difference, std::size_t top, std::size_t width,
                            const Style& style) {
  const std::string verdict = verdict_text(difference.step);
  std::string text = wrapped(
      fmt::format("a step takes {} in A and {} in B, {:.2f}x as long{}\n{}\n",
                  nanoseconds_text(difference.step.a), nanoseconds_text(difference.step.b),
                  difference.ratio, verdict.empty() ? "" : ": " + verdict, headline(difference)),
      2, width);
  text += "\n" + parts_text(difference.categories, "category", SIZE_MAX, width, style);
  text += "\n" + parts_text(difference.kernels, "kernel", top, width, style);
  for (const std::string& note : difference.notes) {
    text += wrapped("note: " + shown_line(note, 500) + "\n", 2, width);
  }
  return text;
}

Json part_json(const PartDifference& part) {
  Json json = {{"name", part.name},      {"category", part.category}, {"a_ns", part.a},
               {"b_ns", part.b},         {"share", part.share},       {"count_a", part.count_a},
               {"count_b", part.count_b}};
  if (!part.other_name.empty()) json["name_b"] = part.other_name;
  if (part.judged) {
    const PairedEffect& effect = part.judged->effect;
    json["ratio"] = std::exp(effect.mean);
    json["ratio95"] = {std::exp(effect.t95.low), std::exp(effect.t95.high)};
    json["verdict"] = name_of(part.judged->ruling.verdict);
  }
  return json;
}

Json difference_json(const TraceDifference& difference) {
  const auto list = [](const std::vector<PartDifference>& parts) {
    Json json = Json::array();
    for (const PartDifference& part : parts) json.push_back(part_json(part));
    return json;
  };
  return {{"traces_a", difference.traces_a},
          {"traces_b", difference.traces_b},
          {"ratio", difference.ratio},
          {"step", part_json(difference.step)},
          {"categories", list(difference.categories)},
          {"kernels", list(difference.kernels)},
          {"notes", difference.notes}};
}

/// A side is named after its first trace.
std::string side_name(const std::vector<std::string>& paths) {
  const std::filesystem::path path = std::filesystem::path(paths.front()).lexically_normal();
  const std::string name = (path.has_filename() ? path : path.parent_path()).filename().string();
  return paths.size() == 1 ? name : fmt::format("{} and {} more", name, paths.size() - 1);
}

int run(const Arguments& arguments, Terminal& terminal) {
  constexpr std::uint64_t most_rows = 1'000'000;
  const auto top = whole_number("--top", arguments.get("--top", "20"), 1, most_rows);
  if (!top.ok()) return report(terminal, top.error());
  const auto margin = given_margin(arguments);
  if (!margin.ok()) return report(terminal, margin.error());
  // The first positional is "compare".
  const std::vector<std::string> paths(arguments.positionals.begin() + 1,
                                       arguments.positionals.end());
  const std::vector<std::string> others = arguments.all("--with");
  if (others.empty()) {
    return report(terminal, {ErrorKind::usage,
                             "trace compare needs a second side: assay trace compare A.json --with "
                             "B.json"});
  }
  const Status writable = check_no_trace_is_replaced("--output", arguments);
  if (!writable.ok()) return report(terminal, writable.error());
  std::vector<std::string> notes;
  const auto a = read_side(paths, notes);
  if (!a.ok()) return report(terminal, a.error());
  const auto b = read_side(others, notes);
  if (!b.ok()) return report(terminal, b.error());
  VerdictRule rule;
  if (*margin) rule.margin = **margin;
  TraceDifference difference = compare_traces(*a, *b, rule);
  difference.notes.insert(difference.notes.end(), notes.begin(), notes.end());
  if (arguments.has("--output")) {
    const report::Document document =
        report::difference_document(difference, side_name(paths), side_name(others), utc_now());
    const Status written = write_file(arguments.get("--output"), report::to_html(document));
    if (!written.ok()) return report(terminal, about("--output", written.error()));
  }
  terminal.print(
      arguments.has("--json")
          ? difference_json(difference).dump(2, ' ', false, Json::error_handler_t::replace) + "\n"
          : difference_text(difference, static_cast<std::size_t>(*top),
                            static_cast<std::size_t>(terminal.width()), terminal.out_style()));
  return exit_ok;
}

const Command command = {
    .name = "trace compare",
    .summary = "Explain by categories and kernels why the steps of some traces take longer",
    .group = CommandGroup::diagnose,
    .positionals = "A...",
    .least_positionals = 2,
    .most_positionals = 4096,
    .details =
        R"(A... are traces of one program, B... those of another, or of the same one somewhere else or after
a change: files of any format that `assay help trace` lists, or folders, each with the ranks of one
job. Every moment of a step belongs to one kernel, copy or idle time, so the parts add up.

Kernels are matched by name. Kernels that only one side has, such as those of another vendor's
library, are matched by category and by how often a step launches them. With six or more traces on
each side, steps and categories get intervals and verdicts by the rule of `assay compare`; with
fewer there are medians only, because one trace is one run. -o writes a page with a waterfall from
A's step to B's.

  assay trace compare before.json --with after.json
  assay trace compare before.json --with after.json -o difference.html
  assay trace compare h100/*.json.gz --with mi300x/*.json.gz --json

)",
    .options = {{"--with", "B...", "the other side", "file", true},
                {"--output", "FILE", "also write a page of the difference, also -o", "file", false,
                 "--out"},
                {"--margin", "SHARE", "differences below this do not matter, e.g. 1%; default 2%",
                 ""},
                {"--top", "N", "rows of the table of kernels, default 20", ""}},
    .run = &run,
    .operands = "file",
};
const CommandRegistry::Add registered{&command};

}  // namespace
}  // namespace assay::cli::trace_compare_command

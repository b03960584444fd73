// assay trace read: where the time of a program went, by the traces of other programs' profilers.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "cli/cli.h"
#include "cli/command.h"
#include "cli/judge/trace_output.h"
#include "cli/judge/trace_view.h"
#include "cli/option_values.h"
#include "core/json.h"
#include "core/shown_text.h"
#include "core/write_file.h"
#include "judge/report/report.h"
#include "judge/report/traces/trace_document.h"
#include "judge/trace/nanoseconds_text.h"
#include "measure/sampling/runner.h"
#include "ranks/environments/shell_words.h"
#include "results/traces/trace_reader.h"

namespace assay::cli::trace_command {
namespace {

struct ReadTraces {
  std::vector<Timeline> timelines;
  std::vector<TraceIndex> indices;
  std::vector<TraceReport> reports;
  RankComparison ranks;
  std::vector<TraceAdvice> rank_advice;
};

Result<ReadTraces> read(const std::vector<std::string>& paths) {
  ReadTraces all;
  all.timelines = TRY(read_traces(paths));
  std::stable_sort(all.timelines.begin(), all.timelines.end(),
                   [](const Timeline& a, const Timeline& b) {
                     return a.rank.value_or(-1) < b.rank.value_or(-1);
                   });
  for (const Timeline& timeline : all.timelines) all.indices.emplace_back(timeline);
  std::vector<const TraceIndex*> ranks;
  std::int64_t span = 0;
  for (const TraceIndex& index : all.indices) {
    all.reports.push_back(report_trace(index));
    ranks.push_back(&index);
    for (const DeviceReport& device : all.reports.back().devices) {
      span = std::max(span, device.times.span);
    }
  }
  all.ranks = compare_ranks(ranks);
  all.rank_advice = rank_advice(all.ranks, span);
  return all;
}

/// Returns what is missing of the job that the traces say they are part of.
std::string missing_ranks(const std::vector<TraceReport>& reports) {
  if (reports.size() < 2 || !reports.front().world_size) return {};
  const auto world = static_cast<std::size_t>(*reports.front().world_size);
  if (reports.size() >= world) return {};
  return fmt::format("{} of the job's {} ranks are here\n", reports.size(), world);
}

/// The commands that the traces advise, largest gain first, as a script.
std::string tuning_script(const ReadTraces& all) {
  std::vector<TraceAdvice> advice = all.rank_advice;
  for (const TraceReport& one : all.reports) {
    for (const DeviceReport& device : one.devices) {
      for (TraceAdvice advised : device.advice) {
        // The trace itself says more than a command can: all shapes, types and counts.
        if (advised.command.starts_with("assay tune gemm ")) {
          advised.command = "assay tune gemm --from " + shell_quoted(one.file);
        }
        advice.push_back(std::move(advised));
      }
    }
  }
  std::stable_sort(advice.begin(), advice.end(),
                   [](const TraceAdvice& a, const TraceAdvice& b) { return a.most > b.most; });
  std::string text = "#!/bin/sh\n# What `assay trace read` advises to tune, largest gain first.\n";
  std::set<std::string> seen;
  for (const TraceAdvice& one : advice) {
    if (!one.command.starts_with("assay tune ") || !seen.insert(one.command).second) continue;
    text += fmt::format("\n# {}: {}; saves at most {}\n{}\n", one.what, shown_line(one.why, 500),
                        nanoseconds_text(one.most), one.command);
  }
  return text;
}

/// Returns the page of the traces. Error: usage, if they do not have the step that --step names.
Result<std::string> page_of(const ReadTraces& all, const std::string& wanted_step) {
  const ShownStep step = TRY(choose_step(all.indices, all.reports, wanted_step));
  return report::to_html(
      report::trace_document({all.reports, all.ranks, all.rank_advice, step}, utc_now()));
}

int run(const Arguments& arguments, Terminal& terminal) {
  constexpr std::uint64_t most_rows = 1'000'000;
  auto top = whole_number("--top", arguments.get("--top", "10"), 1, most_rows);
  if (!top.ok()) return report(terminal, top.error());
  // The first positional is "read".
  const std::vector<std::string> paths(arguments.positionals.begin() + 1,
                                       arguments.positionals.end());
  for (const char* option : {"--tune", "--output"}) {
    const Status writable = check_no_trace_is_replaced(option, arguments);
    if (!writable.ok()) return report(terminal, writable.error());
  }
  const Status two_files =
      check_two_files("--tune", arguments.get("--tune"), "--output", arguments.get("--output"));
  if (!two_files.ok()) return report(terminal, two_files.error());
  if (arguments.has("--step") && !arguments.has("--output")) {
    return report(
        terminal,
        {ErrorKind::usage, "--step chooses the step that a page shows, so it needs --output FILE"});
  }
  const auto all = read(paths);
  if (!all.ok()) return report(terminal, all.error());
  if (arguments.has("--tune")) {
    const Status written = write_file(arguments.get("--tune"), tuning_script(*all));
    if (!written.ok()) return report(terminal, about("--tune", written.error()));
  }
  if (arguments.has("--output")) {
    const auto page = page_of(*all, arguments.get("--step"));
    if (!page.ok()) return report(terminal, page.error());
    const Status written = write_file(arguments.get("--output"), *page);
    if (!written.ok()) return report(terminal, about("--output", written.error()));
  }
  if (arguments.has("--json")) {
    Json traces = Json::array();
    for (const TraceReport& one : all->reports) traces.push_back(trace_json(one));
    const Json json = {{"traces", std::move(traces)},
                       {"ranks", ranks_json(all->ranks)},
                       {"advice", advice_json(all->rank_advice)}};
    terminal.print(json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
    return exit_ok;
  }
  const auto width = static_cast<std::size_t>(terminal.width());
  const Style style = terminal.out_style();
  bool first = true;
  for (const TraceReport& one : all->reports) {
    terminal.print((first ? "" : "\n") +
                   trace_text(one, static_cast<std::size_t>(*top), width, style));
    first = false;
  }
  terminal.print(ranks_text(all->ranks, width, style) + missing_ranks(all->reports) +
                 advice_text(all->rank_advice, width, style));
  return exit_ok;
}

const Command read_command = {
    .name = "trace read",
    .summary = "Say where the time went, by a profiler's trace, and what would get it back",
    .group = CommandGroup::diagnose,
    .positionals = "FILE|FOLDER...",
    .least_positionals = 2,
    .most_positionals = 4096,
    .details =
        R"(Reads traces of PyTorch's profiler (also of vLLM and SGLang) and of other profilers; `assay help
trace` lists them. Several files are the ranks of one job, and so are those of a folder. For each
GPU and step: how long it computed, communicated, copied and was idle, and why; its kernels by
category and name, its GEMMs by shape, its collectives; then what to change, what that
saves at most, and the command that tries it. -o writes a page of one step: its timeline, what
its time went to, its costliest operations, and its matrix products on a roofline.

  assay trace read trace.json.gz
  assay trace read traces/ --json
  assay trace read traces/ -o step.html
  assay trace read trace.json.gz --tune tune.sh && sh tune.sh

)",
    .options = {{"--top", "N", "rows of each table, default 10", ""},
                {"--output", "FILE", "also write a page of one step, also -o", "file", false,
                 "--out"},
                {"--step", "N|NAME",
                 "the step on the page, by its number or its name; default: the median by time",
                 ""},
                {"--tune", "FILE", "also write the tunings that it advises, as a script", "file"}},
    .run = &run,
    .operands = "file",
};
const CommandRegistry::Add registered_read{&read_command};

int run_without_kind(const Arguments& arguments, Terminal& terminal) {
  return report(terminal,
                {ErrorKind::usage, fmt::format("trace has no \"{}\"; allowed: read, record, "
                                               "compare, anonymize, as in assay trace read FILE",
                                               shown_line(arguments.positionals.front(), 100))});
}

const Command command = {
    .name = "trace",
    .summary = "Record timelines, read profilers' traces, compare and anonymize them",
    .group = CommandGroup::diagnose,
    .positionals = "record|read|compare|anonymize ...",
    .least_positionals = 1,
    .most_positionals = 4096,
    .details =
        R"(Reads traces that profilers of other programs wrote: `assay trace read --help`.

  assay trace read trace.json.gz

)",
    .options = {},
    .run = &run_without_kind,
    .operands = "record read compare anonymize",
    .no_json = "its kinds have it: assay trace read --json",
};
const CommandRegistry::Add registered{&command};

}  // namespace
}  // namespace assay::cli::trace_command

// assay trace record: records a few steps of a benchmark as a timeline.
#include <fmt/format.h>

#include <algorithm>

#include "cli/cli.h"
#include "cli/command.h"
#include "cli/completion_words.h"
#include "cli/interrupt.h"
#include "cli/measure/run_ranks.h"
#include "cli/option_values.h"
#include "cli/results_store.h"
#include "compute/device/backend.h"
#include "core/json.h"
#include "core/own_binary.h"
#include "core/shown_text.h"
#include "core/units.h"
#include "core/write_file.h"
#include "measure/grid/axis.h"
#include "measure/grid/benchmark.h"
#include "measure/sampling/record_trace.h"
#include "measure/sampling/team_plan.h"
#include "measure/suites/cells_of_target.h"
#include "ranks/launch/cpu_share.h"
#include "ranks/team/agreement.h"
#include "results/traces/writing/trace_writer.h"
#include "statistics/summary.h"

namespace assay::cli::trace_record_command {
namespace {

struct Request {
  Plan plan;
  TraceRequest trace;
  TraceFileKind kind;
  std::string file, device;
  TeamRequest team;
  bool json = false;
};

Result<TraceSource> read_source(const std::string& name) {
  if (name == "auto") return TraceSource::best;
  if (name == "events") return TraceSource::events;
  if (name == "cupti") return TraceSource::cupti;
  return Error{ErrorKind::usage,
               fmt::format("--recorder {}, allowed: auto, events or cupti", shown_line(name, 40))};
}

Result<Request> read_request(const Arguments& arguments) {
  Request request;
  std::vector<AxisSetting> settings;
  // The first positional is "record".
  for (std::size_t i = 2; i < arguments.positionals.size(); ++i) {
    settings.push_back(TRY(parse_axis_setting(arguments.positionals[i])));
  }
  if (arguments.positionals[1] == "load") {
    return Error{
        ErrorKind::usage,
        "a load is recorded by the command that sends it: assay load --url URL --trace FILE"};
  }
  request.plan = TRY(make_plan(arguments.positionals[1], settings));
  const auto is_benchmark = [](const Cell& cell) {
    return find_benchmark(cell.benchmark()) != nullptr;
  };
  if (request.plan.cells.empty() || !is_benchmark(request.plan.cells.front())) {
    return Error{ErrorKind::usage,
                 fmt::format("{} is no benchmark whose steps can be recorded; `assay list` shows "
                             "the benchmarks",
                             request.plan.name)};
  }
  constexpr std::uint64_t most_steps = 1000;
  request.trace.steps = static_cast<std::size_t>(
      TRY(whole_number("--steps", arguments.get("--steps", "3"), 1, most_steps)));
  const auto seed = parse_integer(arguments.get("--seed", "1"));
  if (!seed.ok()) return about("--seed", seed.error());
  request.trace.seed = *seed;
  request.trace.source = TRY(read_source(arguments.get("--recorder", "auto")));
  request.trace.telemetry_interval = TRY(telemetry_interval(arguments, "50"));
  request.file = arguments.get("--output", request.plan.name + ".pftrace");
  auto kind = trace_file_kind(request.file);
  if (!kind.ok()) return about("--output", kind.error());
  request.kind = *kind;
  request.device = arguments.get("--device");
  request.json = arguments.has("--json");
  request.team = TRY(read_team_request(arguments, request.plan));
  if (!request.team.arguments.empty()) {  // of the ranks that this one starts
    request.team.arguments.front() = "record";
    request.team.arguments.insert(request.team.arguments.begin(), "trace");
    request.team.arguments.insert(
        request.team.arguments.end(),
        {"--steps", std::to_string(request.trace.steps), "--output",
         request.kind.format == TraceFormat::chrome ? "a.json" : "a.pftrace"});
  }
  return request;
}

/// Returns the file's text on rank 0, made of the parts of all ranks.
Result<std::string> gather(const Timeline& timeline, const Request& request, Team& team) {
  std::int64_t first = longest_time;
  for (const TraceEvent& event : timeline.events()) {
    first = std::min(first, event.start + timeline.epoch);
  }
  // The earliest event of all ranks, and rank 0's format.
  const auto begins = TRY(team.exchange(
      "beginning the trace",
      fmt::format("{} {}", first, request.kind.format == TraceFormat::chrome ? 'c' : 'p')));
  std::int64_t base = longest_time;
  for (const std::string& text : begins) {
    base = std::min<std::int64_t>(base, std::strtoll(text.c_str(), nullptr, 10));
  }
  const TraceFormat format =
      begins.front().ends_with('c') ? TraceFormat::chrome : TraceFormat::perfetto;
  // A message between ranks holds at most 64 MiB.
  constexpr std::size_t longest_piece = std::size_t{16} << 20;
  const std::string part = trace_part(timeline, format, team.rank(), base);
  std::size_t longest = 0;
  for (const std::string& size :
       TRY(team.exchange("measuring the trace", std::to_string(part.size())))) {
    longest = std::max<std::size_t>(longest, std::strtoull(size.c_str(), nullptr, 10));
  }
  std::vector<std::string> parts(static_cast<std::size_t>(team.size()));
  const auto append = [&](const std::vector<std::string>& pieces) {
    for (std::size_t i = 0; i < parts.size(); ++i) parts[i] += pieces[i];
    return std::string();
  };
  for (std::size_t at = 0; at < longest; at += longest_piece) {
    const std::string piece = part.substr(std::min(at, part.size()), longest_piece);
    TRY(team.decide("gathering the trace", piece, append));
  }
  return team.rank() == 0 ? whole_trace(parts, request.kind, base) : std::string();
}

struct Recording {
  RecordedTrace trace;
  std::string text;
};

Result<Recording> record(const Request& request, Device& device, Team& team) {
  Recording recording;
  recording.trace =
      TRY(record_trace(request.trace, device, team, [] { return interrupt_requested(); }));
  recording.text = TRY(gather(recording.trace.timeline, request, team));
  return recording;
}

int show(const Request& request, const Recording& recording, std::size_t cells,
         Terminal& terminal) {
  const Timeline& timeline = recording.trace.timeline;
  std::int64_t operations = 0;
  for (const TraceEvent& event : timeline.events()) {
    if (is_gpu_work(event.kind)) operations += event.duration;
  }
  const double of_operations =
      static_cast<double>(operations) * 1e-9 / static_cast<double>(request.trace.steps);
  const double without = median(recording.trace.unrecorded),
               with = median(recording.trace.recorded),
               on_device = median(recording.trace.on_device);
  const std::string cell = request.trace.cell.id();
  if (request.json) {
    terminal.print(json_line({{"file", request.file},
                              {"cell", cell},
                              {"steps", request.trace.steps},
                              {"events", timeline.events().size()},
                              {"step_seconds_without_recording", without},
                              {"step_seconds_with_recording", with},
                              {"device_seconds_per_step", on_device},
                              {"operation_seconds_per_step", of_operations}}) +
                   "\n");
    return exit_ok;
  }
  std::string text = fmt::format("{}: {} steps of {}, {} events", request.file, request.trace.steps,
                                 cell, timeline.events().size());
  if (cells > 1) text += fmt::format("; it is the first of {} cells, name axes for another", cells);
  text += fmt::format(
      "\na step takes {} without recording and {} with it ({:+.1f}%); on the device it takes {} "
      "from its first operation to its last; its operations take {} in all\n"
      "`{} trace read {}` says where the time goes; ui.perfetto.dev shows it\n",
      format_seconds(without), format_seconds(with), 100 * (with / without - 1),
      format_seconds(on_device), format_seconds(of_operations), own_command(), request.file);
  terminal.print(text);
  return exit_ok;
}

int run(const Arguments& arguments, Terminal& terminal) {
  auto parsed = read_request(arguments);
  if (!parsed.ok()) return report(terminal, parsed.error());
  Request& request = *parsed;
  const Status writable = check_writable(request.file);
  const auto session = meet_ranks(request.team, request.plan, terminal);
  if (!session.ok()) return report(terminal, session.error());
  Team& team = session->team ? *session->team : solo_team();
  if (team.rank() > 0) close_output();
  if (team.rank() == 0 && !writable.ok()) return report(terminal, writable.error());
  auto backends = make_backends();
  const Status divided = divide_cpus(team, chooses_cpu(backends, request.device));
  if (!divided.ok()) return report(terminal, divided.error());
  const auto device = open_device_of_rank(backends, request.device, own_place(team).local_rank);
  const Status opened =
      agree(team, "opening devices", device.ok() ? Status() : Status(device.error()));
  if (!opened.ok()) return report(terminal, opened.error());
  request.plan.cells = expand_on(request.plan.cells, **device, team);
  const auto plan = plan_of_rank_0(team, {request.plan.cells, request.trace.seed});
  if (!plan.ok()) return report(terminal, plan.error());
  if (plan->cells.empty()) {
    return report(terminal, {ErrorKind::unsupported,
                             fmt::format("{} has no cell on this device", request.plan.name)});
  }
  request.trace.cell = plan->cells.front();
  request.trace.seed = plan->seed;
  catch_interrupts();
  const auto recording = record(request, **device, team);
  if (!recording.ok()) {
    const ErrorKind kind = recording.error().kind;
    if (team.rank() > 0)
      return kind == ErrorKind::interrupted ? exit_interrupted : exit_nothing_ran;
    return report(terminal, {kind, with_failures(recording.error().message, session->started)});
  }
  if (team.rank() > 0) return exit_ok;
  const Status written = write_file(request.file, recording->text);
  if (!written.ok()) return report(terminal, written.error());
  return show(request, *recording, plan->cells.size(), terminal);
}

const Command command = {
    .name = "trace record",
    .summary = "Record a few steps of a benchmark as a timeline for Perfetto",
    .group = CommandGroup::diagnose,
    .positionals = "BENCHMARK [AXIS=VALUE]...",
    .least_positionals = 2,
    .most_positionals = 64,
    .details =
        R"(Prepares one cell as `assay run` would, times warm steps of it, then records a few more: the host's
calls, each kernel, copy, matrix product and collective on its stream, with shapes, bytes, operations
and their share of the peak rate, and the telemetry. Several ranks become one file on one clock.

On NVIDIA GPUs the times are those of each kernel, from CUDA's tracing library, CUPTI, if this machine
has it. Elsewhere they come from the device's own events, which say when an operation began and ended,
not what the kernels inside a library's call did. The file says which, and what recording cost: a step's
time without it and with it. Results are not verified; `assay run` does that.

`assay load --trace FILE` records the requests of a load beside the steps of the server.

ui.perfetto.dev and chrome://tracing open the file, `assay trace read` says where the time goes.

  assay trace record train model=124M -o step.pftrace
  assay trace record decode --device cpu -o decode.json.gz
  assay trace record collective op=all_reduce size=64MiB --ranks 2

)",
    .options =
        {
            {"--output", "FILE",
             "file to write, .pftrace, .perfetto-trace or .json, each also with .gz; default "
             "BENCHMARK.pftrace",
             "file", false, "--out"},
            {"--steps", "N", "steps to record, default 3", ""},
            {"--recorder", "NAME",
             "cupti: CUDA's tracing library, which times each kernel of an NVIDIA GPU; events: of "
             "the device around each operation, on every backend; auto (default): cupti where the "
             "machine has it, else events",
             "auto events cupti"},
            {"--device", "NAME", "device to record, e.g. cuda:0, hip:1, cpu; default: the best one",
             "cpu cuda hip"},
            {"--seed", "N", "seed of the benchmark's inputs; default 1", ""},
            {"--telemetry", "RATE",
             "record clocks, power and temperature RATE times per second, or off; default 50",
             "off 10 50"},
            {"--ranks", "N",
             "record N ranks on this machine, each with its own device; this process is rank 0",
             ""},
            {"--hosts", "LIST",
             "record ranks on several machines, e.g. node1:8,node2:8, started over ssh", ""},
            {"--without-secret", "",
             "under srun, torchrun or dstack: start without a token although other users of this "
             "machine could take a rank's place",
             ""},
            {"--patience", "TIME", "how long a rank may keep the others waiting; default 2min", ""},
        },
    .run = &run,
    .operands = &benchmark_names,
};
const CommandRegistry::Add registered{&command};

}  // namespace
}  // namespace assay::cli::trace_record_command

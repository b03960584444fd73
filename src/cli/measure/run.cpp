// assay run: measures a suite or a benchmark on one device and stores the records.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "cli/cell_names.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/completion_words.h"
#include "cli/interrupt.h"
#include "cli/measure/run_ranks.h"
#include "cli/measure/run_repeat.h"
#include "cli/measure/run_view.h"
#include "cli/option_values.h"
#include "cli/results_store.h"
#include "cli/results_view.h"
#include "compute/device/backend.h"
#include "core/json.h"
#include "core/own_binary.h"
#include "core/units.h"
#include "machine/system/fingerprint.h"
#include "measure/grid/benchmark.h"
#include "measure/sampling/external.h"
#include "measure/sampling/team_plan.h"
#include "measure/suites/cells_of_target.h"
#include "measure/suites/suite.h"
#include "ranks/launch/cpu_share.h"
#include "ranks/team/agreement.h"

namespace assay::cli::run_command {
namespace {

struct Request {
  Plan plan;
  std::optional<Price> price;
  /// Axes that progress names although they may not vary: those on the command line, and the
  /// transport, so that TCP is never mistaken for RDMA.
  std::vector<std::string> named_axes = {"transport"};
  std::string device;
  std::string folder;
  RunOptions options;
  TeamRequest team;
  std::vector<std::size_t> last;  ///< numbers of the cells to measure after all others
  bool json = false;
};

Status check_repeat(const Arguments& arguments, const Request& request) {
  if (!arguments.has("--repeat")) return {};
  constexpr std::uint64_t most = 1000;
  const std::string text = arguments.get("--repeat");
  const auto times = parse_integer(text);
  if (!times.ok() || *times < 1 || *times > most) {
    return Error{ErrorKind::usage,
                 fmt::format("--repeat \"{}\" is not allowed; allowed: 1 to {}", text, most)};
  }
  if (request.team.place) {
    return Error{ErrorKind::usage,
                 fmt::format("--repeat starts processes of its own: repeat {} itself, or start "
                             "the ranks with --ranks or --hosts",
                             request.team.place->launcher)};
  }
  return {};
}

/// "12,7". Error: usage, naming the option.
Result<std::vector<std::size_t>> read_numbers(std::string_view option, std::string_view text) {
  std::vector<std::size_t> numbers;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const auto number = parse_integer(text.substr(0, comma));
    if (!number.ok()) return about(option, number.error());
    numbers.push_back(*number);
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
  }
  return numbers;
}

/// Moves the cells with these numbers behind the others, in this order; there may be fewer cells.
void put_last(const std::vector<std::size_t>& numbers, std::vector<Cell>& cells) {
  std::vector<Cell> first, last;
  for (const std::size_t number : numbers) {
    if (number < cells.size()) last.push_back(cells[number]);
  }
  for (const Cell& cell : cells) {
    if (std::find(last.begin(), last.end(), cell) == last.end()) first.push_back(cell);
  }
  cells = std::move(first);
  for (Cell& cell : last) {
    if (std::find(cells.begin(), cells.end(), cell) == cells.end()) cells.push_back(cell);
  }
}

Result<Request> read_request(const Arguments& arguments) {
  Request request;
  std::vector<AxisSetting> settings;
  for (std::size_t i = 1; i < arguments.positionals.size(); ++i) {
    settings.push_back(TRY(parse_axis_setting(arguments.positionals[i])));
  }
  request.plan = TRY(make_plan(arguments.positionals.front(), settings));
  for (const AxisSetting& setting : settings) request.named_axes.push_back(setting.axis);
  request.device = arguments.get("--device");
  request.folder = arguments.get("--out", default_folder);
  request.json = arguments.has("--json") || request.folder == pipe;
  request.price = TRY(given_price(arguments));
  request.options.budget_seconds = request.plan.budget_seconds;
  if (arguments.has("--budget")) {
    const auto budget = parse_duration(arguments.get("--budget"));
    if (!budget.ok()) return about("--budget", budget.error());
    request.options.budget_seconds = *budget;
  }
  request.options.telemetry_interval = TRY(telemetry_interval(arguments, "10"));
  const auto seed = parse_integer(arguments.get("--seed", "1"));
  if (!seed.ok()) return about("--seed", seed.error());
  request.options.seed = *seed;
  if (arguments.has("--last")) request.last = TRY(read_numbers("--last", arguments.get("--last")));
  TRY(check_formats(request.plan.commands));
  request.options.commands = request.plan.commands;
  if (arguments.has("--barrier")) {
    auto barrier = Barrier::parse(arguments.get("--barrier"));
    if (!barrier.ok()) return about("--barrier", barrier.error());
    request.options.barrier = *barrier;
  }
  request.team = TRY(read_team_request(arguments, request.plan));
  if (arguments.has("--patience")) {
    request.options.device_patience_seconds = device_patience(request.team);
  }
  TRY(check_repeat(arguments, request));
  if (arguments.has("--check")) {
    request.options.only_check = true;
    request.folder = pipe;  // there is nothing to store
  }
  return request;
}

/// The device, if some cells are known only on one and it can be opened.
std::unique_ptr<Device> device_for_dry_run(const Request& request) {
  const bool needed =
      std::any_of(request.plan.cells.begin(), request.plan.cells.end(), [](const Cell& cell) {
        const Benchmark* benchmark = find_benchmark(cell.benchmark());
        return benchmark != nullptr && benchmark->depends_on_device();
      });
  if (!needed) return nullptr;
  auto backends = make_backends();
  auto device = open_device(backends, request.device);
  return device.ok() ? std::move(*device) : nullptr;
}

Status print_cells(const Request& request, Terminal& terminal) {
  const std::unique_ptr<Device> device = device_for_dry_run(request);
  const std::vector<Cell> cells =
      device ? expand_on(request.plan.cells, *device, *team_to_meet(request.team))
             : request.plan.cells;
  TRY(check_written_once(cells));
  for (const Cell& cell : cells) {
    const Benchmark* benchmark = find_benchmark(cell.benchmark());
    const std::string needs =
        device && benchmark != nullptr ? benchmark->requirements(cell, *device) : "";
    if (!request.json) {
      terminal.print(cell.id() + "\n");
      if (!needs.empty()) terminal.print("  needs " + needs + "\n");
      continue;
    }
    Json axes = Json::object();
    for (const auto& [axis, value] : cell.values()) axes[axis] = value;
    Json json = {{"benchmark", cell.benchmark()}, {"axes", axes}};
    if (!needs.empty()) json["needs"] = needs;
    terminal.print(json_line(json) + "\n");
  }
  return {};
}

int status_of(const std::vector<Record>& records, bool interrupted) {
  const auto any = [&](RecordStatus status) {
    return std::any_of(records.begin(), records.end(),
                       [&](const Record& record) { return record.status == status; });
  };
  if (interrupted) return exit_interrupted;
  if (any(RecordStatus::failed)) return exit_verification;
  if (!any(RecordStatus::passed)) return exit_nothing_ran;
  return any(RecordStatus::error) ? exit_cell_error : exit_ok;
}

/// "; at this pace all of them need --budget 90s"; empty if the budget was enough for all cells.
std::string missing_budget(const std::vector<Record>& records, double elapsed_seconds,
                           const std::optional<double>& budget_seconds) {
  const auto all = static_cast<double>(records.size());
  const auto measured =
      static_cast<double>(std::count_if(records.begin(), records.end(), [](const Record& record) {
        return record.status != RecordStatus::interrupted;
      }));
  if (!budget_seconds || measured == 0 || measured == all) return {};
  const double seconds = std::max(elapsed_seconds, *budget_seconds) * all / measured;
  return fmt::format("; at this pace all of them need --budget {:.0f}s", std::ceil(seconds));
}

/// Prints tables, conclusions and, if everything was `stored`, where: to standard output, unless
/// that carries JSON.
void print_results(const Request& request, const RunView& view, const RunOutcome& outcome,
                   bool stored, Terminal& terminal) {
  const Style style = request.json ? terminal.error_style() : terminal.out_style();
  const auto width =
      static_cast<std::size_t>(request.json ? terminal.error_width() : terminal.width());
  std::string text = "\n" + results_text(view.records(), width, style);
  const bool emulated = std::any_of(view.records().begin(), view.records().end(),
                                    [](const Record& record) { return record.device.emulated; });
  for (const Conclusion& conclusion : outcome.conclusions) {
    text += (emulated ? "model: " : "") + conclusion.text + "\n";
  }
  if (!outcome.conclusions.empty()) text += "\n";
  text += fmt::format(
      "{} in {}{}\n", counts_text(view.records()), format_clock(view.elapsed_seconds()),
      outcome.interrupted
          ? fmt::format("; stopped, {} not measured", request.plan.cells.size() - outcome.measured)
          : missing_budget(view.records(), view.elapsed_seconds(), request.options.budget_seconds));
  if (request.folder != pipe && stored) {
    text += fmt::format("stored in {0} as run {1}; `{2} report {0} -o report.html` draws it\n",
                        request.folder, request.options.run, own_command());
  }
  if (request.json) {
    terminal.note(text);
  } else {
    terminal.print(text);
  }
}

/// Prints the cells that cannot be measured, and why. The others are `interrupted`
/// (RunOptions::only_check). Returns the exit status.
int conclude_check(const Request& request, const std::vector<Record>& records, Terminal& terminal) {
  std::vector<Record> lacking;
  std::copy_if(records.begin(), records.end(), std::back_inserter(lacking),
               [](const Record& record) { return record.status != RecordStatus::interrupted; });
  const auto width =
      static_cast<std::size_t>(request.json ? terminal.error_width() : terminal.width());
  const Style style = request.json ? terminal.error_style() : terminal.out_style();
  const std::string text = (lacking.empty() ? "" : results_text(lacking, width, style)) +
                           fmt::format("{} of {} cells can be measured here\n",
                                       records.size() - lacking.size(), records.size());
  if (request.json) {
    terminal.note(text);
  } else {
    terminal.print(text);
  }
  if (lacking.empty()) return exit_ok;
  return lacking.size() == records.size() ? exit_nothing_ran : exit_cell_error;
}

int measure(Request& request, Terminal& terminal) {
  if (request.folder == pipe && is_other_rank()) close_output();
  const auto session = meet_ranks(request.team, request.plan, terminal);
  if (!session.ok()) return report(terminal, session.error());
  Team& team = session->team ? *session->team : solo_team();
  if (team.rank() == 0) complain_without_proc(terminal);
  auto backends = make_backends();
  const bool on_cpu = chooses_cpu(backends, request.device);
  // Taken before the CPUs are divided among ranks: that is part of this run, not of the machine.
  const Json found = team.rank() == 0 ? take_fingerprint(facts_of(backends)) : Json();
  const Status divided = divide_cpus(team, on_cpu);
  if (!divided.ok()) {
    return team.rank() > 0 ? exit_nothing_ran : report(terminal, divided.error());
  }
  const auto device = open_device_of_rank(backends, request.device, own_place(team).local_rank);
  if (team.rank() > 0) return measure_for_rank_0(device, request.options, team);
  const Status opened =
      agree(team, "opening devices", device.ok() ? Status() : Status(device.error()));
  if (!opened.ok()) return report(terminal, opened.error());
  request.plan.cells = expand_on(request.plan.cells, **device, team);
  if (const Status apart = check_written_once(request.plan.cells); !apart.ok()) {
    return report(terminal, apart.error());
  }
  put_last(request.last, request.plan.cells);
  const auto plan = plan_of_rank_0(team, {request.plan.cells, request.options.seed});
  if (!plan.ok()) return report(terminal, plan.error());
  std::optional<Store> store;
  const bool silent = request.options.only_check && !request.json;
  const auto fingerprint = silent ? Result<std::string>(fingerprint_id(found))
                                  : keep_fingerprint(request.folder, found, store, terminal);
  if (!fingerprint.ok()) {
    terminal.complain(about("--out", fingerprint.error()).message);
    return exit_io;
  }
  request.options.run = new_run_id();
  request.options.fingerprint = *fingerprint;
  catch_interrupts();
  terminal.note(fmt::format("{}: {} cell{} on {}{}\n", request.plan.name, request.plan.cells.size(),
                            request.plan.cells.size() == 1 ? "" : "s",
                            device_text((*device)->facts()),
                            team.size() > 1 ? fmt::format(", {} ranks", team.size()) : ""));
  std::vector<const Cell*> cells;
  for (const Cell& cell : request.plan.cells) cells.push_back(&cell);
  RunView view(terminal, store ? &*store : nullptr, varying_names(cells, request.named_axes),
               request.options.budget_seconds, request.json, request.price);
  const auto outcome = run_cells(request.plan.cells, **device, request.options, view, team);
  view.clear();
  if (request.options.only_check && outcome.ok() && !outcome->interrupted) {
    return conclude_check(request, view.records(), terminal);
  }
  print_results(request, view, outcome.ok() ? *outcome : RunOutcome{}, outcome.ok(), terminal);
  if (!outcome.ok()) {
    terminal.complain(with_failures(outcome.error().message, session->started));
    const ErrorKind kind = outcome.error().kind;  // only the store reports these three kinds
    const bool of_store =
        kind == ErrorKind::exhausted || kind == ErrorKind::file || kind == ErrorKind::usage;
    return of_store ? exit_io : exit_nothing_ran;
  }
  return status_of(view.records(), outcome->interrupted);
}

int run(const Arguments& arguments, Terminal& terminal) {
  auto request = read_request(arguments);
  if (!request.ok()) return report(terminal, request.error());
  if (arguments.has("--repeat") && !arguments.has("--dry-run") && !arguments.has("--check")) {
    return repeat_run(arguments, *parse_integer(arguments.get("--repeat")), terminal);
  }
  if (arguments.has("--dry-run")) {
    const Status printed = print_cells(*request, terminal);
    return printed.ok() ? exit_ok : report(terminal, printed.error());
  }
  return measure(*request, terminal);
}

/// `assay run memory --help` asks for the axes of memory.
bool help_on_operand(const Arguments& arguments, Terminal& terminal) {
  if (arguments.positionals.empty()) return false;
  const std::string& name = arguments.positionals.front();
  const auto suites = built_in_suites();
  const bool suite = suites.ok() && std::any_of(suites->begin(), suites->end(),
                                                [&](const Suite& one) { return one.name == name; });
  if (!suite && find_benchmark(name) == nullptr) return false;
  Arguments listed = arguments;
  listed.positionals.resize(1);
  return find_command("list")->run(listed, terminal) == exit_ok;
}

const Command command = {
    .name = "run",
    .summary = "Measure a suite or a benchmark, verify every result, store the records",
    .positionals = "SUITE|BENCHMARK [AXIS=VALUE[,VALUE...]]...",
    .least_positionals = 1,
    .most_positionals = 64,
    .details =
        R"(SUITE is a name from `assay list` or a YAML file. AXIS=VALUE replaces the values of an axis;
sizes are 4KiB, 64MiB, 1GiB or plain bytes, sweeps FIRST..LAST*FACTOR or FIRST..LAST+STEP,
and all means every choice. Where a suite and a benchmark share a name, the suite runs.
A file .log or .txt, or one with / in its name, may instead hold command lines of MIOpenDriver,
as MIOPEN_ENABLE_LOGGING_CMD=1 prints them among others: its convolutions, each once.

Results go to standard output, progress to standard error. A cell has a value only if its
result was verified. Ctrl-C ends the run cleanly, a second one at once; records already stored
survive both, and even SIGKILL.

With --out - there is no store: the first line of standard output is the environment, as in
fingerprints.jsonl, and the others are the records. `assay campaign` uses this on other
machines; in an MPI or Slurm job only rank 0 then prints. SUITE may also be the text of a
suite, as YAML in one line that begins with {.

Benchmarks between processes need ranks, one for each GPU: --ranks starts them on this machine,
--hosts also on others over ssh; under mpirun, srun, torchrun or dstack they already exist. If a
rank dies or keeps the others waiting, or a GPU hangs, the run ends and names it; --patience
sets how long to wait.

Ranks show each other that they know the run's secret; others that connect are sent away. Where
assay starts the ranks, or MPI does, they get a random one. Under srun, torchrun and dstack, set
ASSAY_TOKEN to one random text for all ranks, or ASSAY_TOKEN_FILE to a file that holds it and that
only you can read: without it others can take a rank's place, and with other users on the machine
the run starts only with --without-secret.

  assay run quick
  assay run memory op=triad size=1MiB..8GiB*2 dtype=f64 --device cuda:0
  assay run copy direction=h2d,d2h memory=pinned --json | jq .value
  assay run collective op=all_reduce size=1MiB..8GiB*4 --ranks 8
  assay run collective --hosts node1:8,node2:8
  mpirun -n 16 assay run collective
  assay run collective op=all_reduce --ranks 8 --repeat 10

)",
    .options =
        {
            {"--device", "NAME",
             "device to measure, e.g. cuda:0, hip:1, cpu; default: the best one", "cpu cuda hip"},
            {"--out", "DIR",
             "folder of the store, created if missing, default ./assay-results; or - for no store",
             "folder", false, "--output"},
            {"--seed", "N", "seed of the benchmarks' inputs; default 1", ""},
            price_option(),
            {"--budget", "TIME",
             "time for the whole command, divided over its runs and cells, e.g. 90s, 10min", ""},
            {"--last", "N,N...",
             "measure the cells with these numbers, from 0, after all others, in this order", ""},
            {"--telemetry", "RATE",
             "record clocks, power, temperature and throttling RATE times per second, or off; "
             "default 10",
             "off 1 10"},
            {"--barrier", "COUNT:DIR",
             "start every cell together with COUNT - 1 other processes, through the folder DIR",
             ""},
            {"--ranks", "N",
             "measure with N ranks on this machine, each with its own device; this process is rank "
             "0",
             ""},
            {"--hosts", "LIST",
             "measure with ranks on several machines, e.g. node1:8,node2:8, started over ssh; this "
             "machine comes first, by its name, its address or localhost",
             ""},
            {"--without-secret", "",
             "under srun, torchrun or dstack: start without a token although other users of this "
             "machine could take a rank's place",
             ""},
            {"--repeat", "N",
             "run N times, each in processes of its own, and show the deviation over runs", ""},
            {"--patience", "TIME",
             "how long a rank may keep the others waiting, or a step of a cell may take on a GPU; "
             "default 2min and 10min",
             ""},
            {"--dry-run", "", "print the cells and measure nothing", ""},
            {"--check", "",
             "start as for measuring, ranks and all, say which cells cannot be measured here and "
             "why, and measure nothing",
             ""},
        },
    .run = &run,
    .help_on_operand = &help_on_operand,
    .operands = &target_names,
};
const CommandRegistry::Add registered{&command};

}  // namespace
}  // namespace assay::cli::run_command

// assay campaign: measures environments alternately until they can be compared.
#include "cli/judge/campaign.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>

#include "cli/cli.h"
#include "cli/command.h"
#include "cli/compare_operands.h"
#include "cli/example_plan.h"
#include "cli/interrupt.h"
#include "cli/judge/campaign_view.h"
#include "cli/judge/compare_view.h"
#include "cli/judge/study.h"
#include "cli/judge/study_run.h"
#include "cli/progress.h"
#include "core/embedded.h"
#include "core/json.h"
#include "core/own_binary.h"
#include "core/suggest.h"
#include "core/units.h"
#include "core/write_file.h"
#include "judge/campaign/budget_outlook.h"
#include "judge/campaign/first_look.h"
#include "judge/campaign/process_runner.h"
#include "judge/campaign/unit_launch.h"
#include "judge/compare/operands.h"
#include "ranks/environments/control_group.h"
#include "ranks/environments/shell_words.h"
#include "results/store/campaign_reader.h"
#include "statistics/summary.h"

namespace assay::cli {
namespace campaign_command {
namespace {

namespace fs = std::filesystem;

struct Request {
  CampaignPlan plan;
  CampaignDesign design;
  std::string folder;
  bool json = false;
};

Result<Request> read_request(CampaignPlan plan, std::string folder, const Arguments& arguments) {
  Request request;
  request.plan = std::move(plan);
  request.folder = std::move(folder);
  request.json = arguments.has("--json");
  CampaignDesign& design = request.design;
  design.schedule = schedule_of(request.plan);
  design.seed = request.plan.seed;
  design.margin = request.plan.margin;
  design.least_pairs = request.plan.least_pairs;
  design.most_pairs = request.plan.most_pairs;
  design.budget_seconds = request.plan.budget_seconds;
  design.pairs_per_draw = read_pairs_per_draw(request.folder);
  if (!arguments.has("--pairs")) return request;
  constexpr std::uint64_t most = most_campaign_pairs;
  const std::string text = arguments.get("--pairs");
  const auto pairs = parse_integer(text);
  if (!pairs.ok() || *pairs == 0 || *pairs > most) {
    return Error{ErrorKind::usage,
                 fmt::format("--pairs \"{}\" is not allowed; allowed: 1 to {}", text, most)};
  }
  if (*pairs % design.pairs_per_draw != 0) {
    return Error{ErrorKind::usage,
                 fmt::format("--pairs \"{}\" is not allowed; allowed: even numbers from 2 to {}, "
                             "since {} was begun by an older version, which drew the order of two "
                             "pairs at once",
                             text, most, request.folder)};
  }
  design.least_pairs = design.most_pairs = *pairs;
  design.budget_seconds.reset();
  return request;
}

std::string barrier_of(const Arm& arm) {
  return arm.size() > 1 ? fmt::format("{}:DIR", arm.size()) : std::string();
}

Result<Launch> launch_of(const Request& request, const Arm& arm, const Member& member,
                         std::size_t pair) {
  std::error_code ignored;
  const PlannedEnvironment& environment = request.plan.environments[member.index];
  return environment.where->launch(
      unit_arguments(request.plan, environment, pair, barrier_of(arm),
                     member.environment != environment.name),
      launch_context(request.plan, member, fs::absolute(request.folder, ignored)));
}

/// The command, quoted for a shell.
std::string command_text(const Launch& launch) {
  const std::string input =
      launch.input.empty() ? "" : fmt::format("printf %s {} | ", shell_quoted(launch.input));
  return input + shell_words(with_variables(launch.variables, launch.words));
}

/// Calls `visit` for every turn of the minimal schedule, in order.
Status for_each_turn(const CampaignDesign& design,
                     const std::function<Status(const Turn&)>& visit) {
  for (std::size_t block = 0; block * design.pairs_per_draw < design.least_pairs; ++block) {
    for (const Turn& turn :
         turns_of_block(design.seed, block, design.schedule.arms.size(), design.pairs_per_draw)) {
      TRY(visit(turn));
    }
  }
  return {};
}

/// A line for every unit of the minimal schedule.
Status print_units(const Request& request, Terminal& terminal) {
  return for_each_turn(request.design, [&](const Turn& turn) -> Status {
    const Arm& arm = request.design.schedule.arms[turn.arm];
    for (const Member& member : arm) {
      const Launch launch = TRY(launch_of(request, arm, member, turn.pair));
      Json json = {{"environment", member.environment},
                   {"pair", turn.pair},
                   {"position", turn.position},
                   {"words", launch.words}};
      for (const auto& [name, text] : launch.variables) json["variables"][name] = text;
      if (!launch.input.empty()) json["input"] = launch.input;
      terminal.print(json_line(json) + "\n");
    }
    return {};
  });
}

/// Each environment's command once, in the order of the plan.
Result<std::string> commands_text(const Request& request, const Style& style) {
  std::string text;
  std::map<std::string, std::string> shown;  // command, and the environment it was shown for
  for (const Arm& arm : request.design.schedule.arms) {
    for (const Member& member : arm) {
      const std::string command = command_text(TRY(launch_of(request, arm, member, 0)));
      const std::string next = command_text(TRY(launch_of(request, arm, member, 1)));
      const auto [at, fresh] = shown.emplace(command, member.environment);
      text += fmt::format("{}\n  {}\n", style.bold(member.environment),
                          fresh ? command : fmt::format("the command of {}", at->second));
      if (fresh && next != command) text += "  in pair 0; it differs from pair to pair\n";
    }
  }
  return text + "\n";
}

/// "pair 0: docker, host, host-control"; what runs at the same time is joined by plus signs.
Result<std::string> order_text(const Request& request) {
  std::string text;
  std::optional<std::size_t> pair;
  TRY(for_each_turn(request.design, [&](const Turn& turn) -> Status {
    std::vector<std::string> names;
    for (const Member& member : request.design.schedule.arms[turn.arm]) {
      names.push_back(member.environment);
    }
    text += pair == turn.pair ? ", " : fmt::format("{}pair {}: ", pair ? "\n" : "", turn.pair);
    text += fmt::format("{}", fmt::join(names, " + "));
    pair = turn.pair;
    return {};
  }));
  return text + "\n\n";
}

/// The expected time to measure `pairs` pairs, if every cell takes usual_cell_seconds.
double expected_seconds(const Request& request, std::size_t pairs) {
  double unit = usual_cell_seconds * static_cast<double>(request.plan.cells);
  unit = std::min(unit, request.plan.unit_budget_seconds.value_or(unit));
  const double all = unit * static_cast<double>(pairs * request.design.schedule.arms.size());
  return std::min(all, request.design.budget_seconds.value_or(all));
}

std::string expected_text(const Request& request) {
  const std::size_t least = request.design.least_pairs, most = request.design.most_pairs;
  std::string text = fmt::format("expected: {} for {} pairs",
                                 format_clock(expected_seconds(request, least)), least);
  if (most > least) {
    text += fmt::format(", at most {} for {}", format_clock(expected_seconds(request, most)), most);
  }
  return text + fmt::format(", at {:g} s a cell; starting the environments comes on top\n",
                            usual_cell_seconds);
}

/// What the campaign would do: as JSON every unit, as text the commands, their order and the time.
Status print_schedule(const Request& request, Terminal& terminal) {
  if (request.json) return print_units(request, terminal);
  const std::string commands = TRY(commands_text(request, terminal.out_style()));
  const std::string order = TRY(order_text(request));
  terminal.print(fmt::format("{}: {} cell{}, {} to {} pairs, seed {}, in {}\n\n", request.plan.name,
                             request.plan.cells, request.plan.cells == 1 ? "" : "s",
                             request.design.least_pairs, request.design.most_pairs,
                             request.design.seed, request.folder) +
                 commands + order + expected_text(request));
  return {};
}

/// Reports how limits will be applied to the units; tried once, so that this is known before the
/// first unit.
void tell_limits(const Request& request, const fs::path& folder, Terminal& terminal) {
  for (std::size_t i = 0; i < request.plan.environments.size(); ++i) {
    const PlannedEnvironment& environment = request.plan.environments[i];
    const LaunchContext context = launch_context(request.plan, {environment.name, i}, folder);
    const auto launch =
        environment.where->launch(unit_arguments(request.plan, environment, 0, ""), context);
    if (!launch.ok() || !launch->limits.any()) continue;
    const auto applied = apply_limits(launch->limits, context.unit);
    if (!applied.ok()) continue;  // the check of the environments reports it and ends the campaign
    terminal.note(fmt::format("{}: limits are applied by {}\n", environment.name, applied->how));
  }
}

/// Adds the whole device's values, which an earlier campaign measured and `store` holds.
Status add_whole(const std::string& store, std::vector<StudyCell>& cells) {
  const ResultSet whole = TRY(load_result_set(store));
  for (StudyCell& cell : cells) {
    const Series* series = whole.find({cell.cell, cell.metric});
    if (series == nullptr || whole.emulated() != cell.emulated) continue;
    std::vector<double> values;
    for (const Point& point : series->points) values.push_back(point.value);
    if (!values.empty()) cell.whole = median(std::move(values));
  }
  return {};
}

/// Shows a study's conclusions and writes them to the folder.
void conclude(const Request& request, const CampaignOutcome& outcome, const fs::path& folder,
              Terminal& terminal) {
  std::vector<StudyCell> cells = conclude_study(*request.plan.study, outcome.values);
  if (const std::string& store = request.plan.study->whole_before; !store.empty()) {
    const Status known = add_whole(store, cells);
    if (!known.ok()) terminal.complain("the whole device: " + known.error().message);
  }
  Json json = Json::array();
  for (const StudyCell& cell : cells) json.push_back(to_json(cell));
  const Status written = write_file(
      folder / "study.json", json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
  if (!written.ok()) terminal.complain(written.error().message);
  terminal.print(request.json ? json_line(Json({{"study", json}})) + "\n"
                              : "\n" + study_text(cells, static_cast<std::size_t>(terminal.width()),
                                                  terminal.out_style()));
}

bool has_values(const CampaignOutcome& outcome, const std::string& environment) {
  const auto first = outcome.values.lower_bound({environment, 0});
  return first != outcome.values.end() && first->first.first == environment;
}

/// Shows the result of `assay compare` for what the campaign has measured.
void compare_all(const Request& request, const CampaignOutcome& outcome, Terminal& terminal) {
  const auto pairs = pairs_of_campaign(request.folder);
  if (!pairs.ok()) return;
  for (const auto& [a, b] : *pairs) {
    if (!has_values(outcome, fs::path(a).filename()) ||
        !has_values(outcome, fs::path(b).filename())) {
      continue;
    }
    const auto operands = load_operands(a, b);
    if (!operands.ok()) {
      terminal.complain(operands.error().message);
      continue;
    }
    const Comparison comparison =
        compare(operands->a, operands->b, operands->control ? &*operands->control : nullptr,
                rule_of(std::nullopt, *operands));
    terminal.print("\n" + comparison_text(comparison, false,
                                          static_cast<std::size_t>(terminal.width()),
                                          terminal.out_style()));
  }
}

int status_of(const CampaignDesign& design, const CampaignOutcome& outcome) {
  if (outcome.stop == CampaignStop::interrupted) return exit_interrupted;
  const bool too_short = outcome.stop == CampaignStop::budget && outcome.pairs == 0;
  if (outcome.stop == CampaignStop::failed || too_short || outcome.values.empty()) {
    return exit_nothing_ran;
  }
  const auto is_measured = [&](const Member& member) {
    return has_values(outcome, member.environment);
  };
  for (const Arm& arm : design.schedule.arms) {
    if (!std::all_of(arm.begin(), arm.end(), is_measured)) return exit_cell_error;
  }
  return outcome.given_up.empty() ? exit_ok : exit_cell_error;
}

/// "16 cells, in turns in host, bubblewrap; host is measured twice, as host-control too, and
/// compared with itself; until all are precise, at most 40 pairs or 10:00"
std::string aim_text(const Request& request) {
  const CampaignPlan& plan = request.plan;
  const CampaignDesign& design = request.design;
  std::vector<std::string> names;
  for (const PlannedEnvironment& environment : plan.environments) {
    names.push_back(environment.name);
  }
  std::string text = fmt::format("{} cell{}, in turns in {}", plan.cells,
                                 plan.cells == 1 ? "" : "s", fmt::join(names, ", "));
  if (plan.control && !plan.study) {
    text += fmt::format("; {0} is measured twice, as {0}-control too, and compared with itself",
                        names.front());
  }
  if (design.least_pairs == design.most_pairs) {
    text += fmt::format("; {} pairs", design.most_pairs);
  } else {
    text += fmt::format("; until all are precise, at most {} pairs", design.most_pairs);
  }
  if (design.budget_seconds) text += " or " + format_clock(*design.budget_seconds);
  return text + "\n";
}

/// What the check of the environments before the first unit found: cells that are left out, and
/// what the budget is too short for. Error: as from compare_looks() and budget_outlook().
Result<std::string> text_of_looks(const Request& request,
                                  const std::vector<EnvironmentLook>& looks) {
  std::string text = TRY(compare_looks(looks));
  if (!text.empty()) text += "\n";
  if (!request.design.budget_seconds) return text;
  BudgetTerms terms;
  terms.budget_seconds = *request.design.budget_seconds;
  terms.unit_budget_seconds = request.plan.unit_budget_seconds;
  terms.cells = request.plan.cells;
  terms.least_pairs = request.design.least_pairs;
  for (const Arm& arm : request.design.schedule.arms) {
    double longest = 0;  // its members start together
    for (const Member& member : arm) longest = std::max(longest, looks[member.index].seconds);
    terms.start_seconds.push_back(longest);
  }
  return text + TRY(budget_outlook(terms));
}

int measure(const Request& request, Terminal& terminal) {
  auto folder = CampaignFolder::open(request.folder, request.plan);
  if (!folder.ok()) return report(terminal, about("--out", folder.error()));
  auto history = folder->history();
  if (!history.ok()) return report(terminal, history.error());
  if (!history->lines.empty()) {
    terminal.note(
        fmt::format("continuing {} after {} units\n", request.folder, history->lines.size()));
  }
  terminal.note(aim_text(request));
  tell_limits(request, folder->path(), terminal);
  catch_interrupts();
  CampaignView view(terminal, *folder, request.design, seconds_of(history->lines), request.json);
  ProcessRunner runner(
      request.plan, folder->path(), [&] { return view.stop_requested(); },
      [&](const std::vector<EnvironmentLook>& looks) -> Status {
        view.say(TRY(text_of_looks(request, looks)));
        return {};
      });
  auto outcome = run_campaign(request.design, *std::move(history), runner, view);
  view.clear();
  if (runner.refusal()) return report(terminal, *runner.refusal());
  if (!outcome.ok()) {
    terminal.complain(fmt::format("{}; no environment is to blame, and the same command continues",
                                  outcome.error().message));
    return exit_io;
  }
  if (view.budget_is_spent()) outcome->stop = CampaignStop::budget;
  const std::string text =
      campaign_text(*outcome, view.retries(), view.elapsed_seconds()) + view.disturbance_text();
  if (request.json) {
    terminal.note(text);
    const Json json = {{"stop", name_of(outcome->stop)},
                       {"pairs", outcome->pairs},
                       {"precise", outcome->precise},
                       {"contrasts", outcome->contrasts},
                       {"given_up", outcome->given_up}};
    terminal.print(json_line(json) + "\n");
  } else {
    terminal.print(text);
  }
  if (request.plan.study) {
    conclude(request, *outcome, folder->path(), terminal);
  } else if (!request.json && outcome->pairs > 0) {
    compare_all(request, *outcome, terminal);
  }
  if (!request.json && !outcome->values.empty()) {
    terminal.print(
        fmt::format("\nstored in {0}; `{1} report {0} -o report.html` draws it, `{1} compare {0}` "
                    "judges it again\n",
                    request.folder, own_command()));
  }
  if (outcome->stop == CampaignStop::failed) {
    terminal.complain("nothing is left to compare: " + view.last_failure());
  } else if (outcome->stop == CampaignStop::budget && outcome->pairs == 0) {
    terminal.complain(
        fmt::format("the budget of {} was spent before the first pair was whole, so that "
                    "nothing can be compared; give more, or measure fewer cells",
                    format_clock(*request.design.budget_seconds)));
  }
  return status_of(request.design, *outcome);
}

int run(const Arguments& arguments, Terminal& terminal) {
  if (arguments.has("--example")) {
    return print_example_plan(embedded_plans(), arguments, terminal);
  }
  if (arguments.positionals.empty()) {
    return report(terminal,
                  {ErrorKind::usage,
                   fmt::format("usage: assay campaign PLAN.yaml, or a study: {}; assay campaign "
                               "--example container prints a plan to begin with",
                               study_names())});
  }
  const std::string& path = arguments.positionals.front();
  if (is_study(path)) return run_study(arguments, terminal);
  for (const char* option : {"--ranks", "--budget", "--device"}) {
    if (!arguments.has(option)) continue;
    return report(terminal,
                  {ErrorKind::usage, fmt::format("{} is for studies ({}); a plan says it itself, "
                                                 "as {}",
                                                 option, study_names(), option + 2)});
  }
  if (arguments.positionals.size() > 1) {
    return report(terminal, {ErrorKind::usage,
                             fmt::format("a plan takes no further operands, but \"{}\" was given; "
                                         "studies do: {}",
                                         arguments.positionals[1], study_names())});
  }
  auto plan = load_campaign_plan(path);
  if (!plan.ok()) return report(terminal, plan.error());
  const std::string folder =
      arguments.get("--out", (fs::path("campaigns") / fs::path(path).stem()).string());
  return run_campaign_plan(*std::move(plan), folder, arguments, terminal);
}

const Command command = {
    .name = "campaign",
    .summary = "Measure environments alternately, in pairs, until they can be compared",
    .group = CommandGroup::compare,
    .positionals = "STUDY [OPERAND...] [AXIS=VALUE]... [-- load LOAD OPTIONS] | PLAN.yaml",
    .least_positionals = 0,
    .most_positionals = 128,
    .details =
        R"(A study answers one question with a plan that is built in, and ends with the answer and a page:

  container [ENVIRONMENT...]  does a container cost anything? docker or podman, else bubblewrap
  vm TARGET...                does a virtual machine cost anything? ssh reaches it without a password
  partition [INDEX...]        what do the partitions of a GPU deliver together, beside the whole?
  scaling                     how much of their speed alone do --ranks N keep together?
  upgrade OLD NEW             does the new build cost anything? folders with lib, or environments
  node NODE [BASELINE]        is the node slower than this machine, or than BASELINE?

An ENVIRONMENT is a word of `assay versus`. What this machine cannot measure is left out by name
before anything starts. --example prints the plan of a study; a file of its name is ./container.

The plan names what to measure and the environments to measure it in: hosts, containers,
machines reached by ssh, MPI, Slurm and dstack jobs, partitions of a GPU. A small one:

  name: container
  suite: memory
  axes: {op: [copy, triad], size: 64MiB}
  environments:              # the first one is the baseline
    - {name: host, kind: host}
    - {name: docker, kind: container, engine: docker, image: "ubuntu:24.04"}

--example prints a plan of each study, for each kind of environment, and for frequent questions
(rccl, vllm, train). `assay help campaigns` explains every key, and `assay versus`
needs no plan.

Every unit is one process of `assay run` in its environment. The units of a pair run one after the
other, in an order that is drawn from the seed for each pair, so that a drift of the machine
favours none of them; the baseline is measured twice and compared with itself. The campaign ends
when every cell is precise enough for its margin, whatever the result.

Before anything is timed, each environment is started once and checks the plan's cells: one that
cannot start, or lacks what the others measure, ends the campaign at once with the reason. Later
a failed unit is retried once; an environment that fails three times in a row is left out, and
the others continue while any two are left to compare. If the command is repeated, it
continues where the earlier one was interrupted or killed.
Ctrl-C ends the running unit and stops; a second Ctrl-C stops at once.

  assay campaign container
  assay campaign container docker:ubuntu:24.04 podman:ubuntu:24.04
  assay campaign scaling --ranks 4
  assay campaign vm root@vm7 -- load --spawn "vllm serve MODEL --port {port}" --max-concurrency 8
  assay campaign --example container > container.yaml
  assay campaign container.yaml
  assay campaign container.yaml --dry-run
  assay campaign container.yaml --pairs 20 --out studies/container

)",
    .options =
        {
            {"--example", "NAME",
             "print a plan to begin with: of a study, of a kind of environment (command, dstack, "
             "host, mpi, slurm, ssh) or of what is measured (rccl, train, vllm)",
             +[] { return names_of(embedded_plans()); }},
            {"--out", "DIR", "the campaign's folder; default ./campaigns/PLAN", "folder", false,
             "--output"},
            {"--ranks", "N",
             "of a study: ranks that scale or communicate; default: one for each GPU, or up to 4 "
             "CPUs",
             ""},
            {"--budget", "TIME",
             "of a study: time for everything; default: its plan's, or 4h where a load starts "
             "servers",
             ""},
            {"--device", "NAME", "of a study: device to measure, as for assay run", ""},
            {"--pairs", "N", "exactly N pairs, regardless of precision and budget", ""},
            {"--dry-run", "",
             "print each command, the order and the expected time, and start nothing", ""},
        },
    .run = &run,
    .operands = &study_names,
};
const CommandRegistry::Add registered{&command};

}  // namespace
}  // namespace campaign_command

int run_campaign_plan(CampaignPlan plan, const std::string& folder, const Arguments& arguments,
                      Terminal& terminal) {
  using namespace campaign_command;
  const auto request = read_request(std::move(plan), folder, arguments);
  if (!request.ok()) return report(terminal, request.error());
  if (!arguments.has("--dry-run")) return measure(*request, terminal);
  const Status printed = print_schedule(*request, terminal);
  return printed.ok() ? exit_ok : report(terminal, printed.error());
}

}  // namespace assay::cli

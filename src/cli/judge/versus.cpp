// assay versus: a campaign from one line, without a plan.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "cli/cli.h"
#include "cli/command.h"
#include "cli/completion_words.h"
#include "cli/judge/campaign.h"
#include "cli/judge/environment_words.h"
#include "cli/judge/versus_load.h"
#include "core/units.h"
#include "core/yaml_text.h"

namespace assay::cli::versus_command {
namespace {

constexpr std::string_view usual_suite = "first";
/// The few short cells of the default suite need less time than others.
constexpr double usual_unit_seconds = 10, short_unit_seconds = 0.75;
constexpr double least_cell_seconds = 0.8;
constexpr std::size_t wanted_pairs = 10, most_short_pairs = 80;

/// The suite that is measured together with the load; empty: only the load is.
std::string suite_of(const Arguments& arguments) {
  const bool has_load =
      words_before_load(arguments.positionals).size() < arguments.positionals.size();
  return arguments.get("--suite", has_load ? "" : usual_suite);
}

/// `budget` and `unit_budget`. Units of many cells are longer, and those of a short budget short,
/// so that enough pairs fit in; each takes about a second to start.
Result<std::string> time_text(const Arguments& arguments, const std::string& suite,
                              bool with_servers, std::size_t arms, std::size_t cells) {
  const bool is_short = suite == usual_suite && !with_servers;
  const std::string budget = arguments.get("--budget", with_servers ? budget_with_servers
                                                       : is_short   ? "3min"
                                                                    : "10min");
  const auto seconds = parse_duration(budget);
  if (!seconds.ok()) return about("--budget", seconds.error());
  std::string text = fmt::format("budget: {}\n", yaml_scalar(budget));
  if (is_short) {
    text += fmt::format("pairs: {{least: {}, most: {}}}\n", wanted_pairs, most_short_pairs);
  }
  if (arguments.has("--unit-budget")) {
    return text + fmt::format("unit_budget: {}\n", yaml_scalar(arguments.get("--unit-budget")));
  }
  if (suite.empty()) return text;  // a load takes the time that its requests take
  if (is_short) return text + fmt::format("unit_budget: {}s\n", short_unit_seconds);
  const double most = std::max(usual_unit_seconds, least_cell_seconds * static_cast<double>(cells));
  const double fitting = *seconds / static_cast<double>(arms * wanted_pairs) - 1;
  return text + fmt::format("unit_budget: {:.3g}s\n", std::clamp(fitting, 1.0, most));
}

/// A plan as a person would have written it, so that it can be kept and changed. `cells`: the
/// number of cells in its suite.
Result<std::string> plan_text(const Arguments& arguments, std::size_t cells) {
  const std::vector<std::string> words = words_before_load(arguments.positionals);
  PlannedLoad load;
  if (words.size() < arguments.positionals.size()) {
    load = TRY(planned_load(
        {arguments.positionals.begin() + std::ssize(words), arguments.positionals.end()}));
  }
  std::vector<std::string> environments, axes;
  std::map<std::string, int> uses;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals != std::string::npos && word.find(':') > equals) {
      axes.push_back(
          fmt::format("{}: {}", word.substr(0, equals), yaml_scalar(word.substr(equals + 1))));
    } else {
      const EnvironmentWord environment = TRY(read_environment_word(word));
      if (arguments.has("--hosts") && environment.settings.starts_with("kind: container")) {
        return Error{
            ErrorKind::usage,
            fmt::format("--hosts does not fit {}: on the other hosts, ranks would run outside "
                        "the container; measure this machine with --ranks N, or hosts by a plan "
                        "whose job runs in containers (`assay help campaigns`: slurm, dstack)",
                        word)};
      }
      environments.push_back(fmt::format("{{name: {}, {}{}}}", unique_name(environment.kind, uses),
                                         environment.settings,
                                         load.servers.empty() ? "" : ", " + load.servers));
    }
  }
  if (environments.size() < 2) {
    return Error{ErrorKind::usage,
                 "assay versus compares at least two environments, e.g. host docker:ubuntu:24.04"};
  }
  const std::string suite = suite_of(arguments);
  std::string text = fmt::format("# assay versus {}\nname: {}\n", fmt::join(words, " "),
                                 yaml_scalar(suite.empty() ? "load" : suite));
  if (!suite.empty()) text += fmt::format("suite: {}\n", yaml_scalar(suite));
  if (!axes.empty()) text += fmt::format("axes: {{{}}}\n", fmt::join(axes, ", "));
  text += load.load;
  text += TRY(time_text(arguments, suite, starts_servers(load), environments.size() + 1, cells));
  for (const std::string_view key : {"margin", "device", "ranks", "hosts"}) {
    const std::string option = fmt::format("--{}", key);
    if (!arguments.has(option)) continue;
    text += fmt::format("{}: {}\n", key, yaml_scalar(arguments.get(option)));
  }
  text += "environments:                # the first one is the baseline\n";
  for (const std::string& environment : environments) text += "  - " + environment + "\n";
  return text;
}

/// "campaigns/first-host-docker-ubuntu-24.04": the same words continue the same campaign.
std::string default_folder(const Arguments& arguments) {
  const std::string suite = suite_of(arguments);
  std::string name = suite.empty() ? "load" : suite;
  for (const std::string& word : words_before_load(arguments.positionals)) name += "-" + word;
  return "campaigns/" + plain_name(name);
}

/// The plan is made twice, because the number of cells is known only after the first one is read.
Result<CampaignPlan> plan_of(const Arguments& arguments) {
  const std::string source = "assay versus";
  const std::string one_cell = TRY(plan_text(arguments, 0));
  const CampaignPlan first = TRY(parse_campaign_plan(one_cell, source));
  const std::string text = TRY(plan_text(arguments, first.cells));
  return parse_campaign_plan(text, source);
}

int run(const Arguments& arguments, Terminal& terminal) {
  auto plan = plan_of(arguments);
  if (!plan.ok()) return report(terminal, plan.error());
  return run_campaign_plan(*std::move(plan), arguments.get("--out", default_folder(arguments)),
                           arguments, terminal);
}

const Command command = {
    .name = "versus",
    .summary = "Does it cost anything? Measure environments in turns and say which is faster",
    .group = CommandGroup::compare,
    .positionals = "BASELINE OTHER... [AXIS=VALUE]... [-- load LOAD OPTIONS]",
    .least_positionals = 2,
    .most_positionals = 128,
    .details =
        R"(An environment is one of

  host                 this machine
  docker:IMAGE         also podman:IMAGE and apptainer:IMAGE; assay is mounted into the image
  bubblewrap           this machine's files in namespaces of their own
  bubblewrap:FOLDER    the same with FOLDER as the root, another system's files
  vm:TARGET            a machine reached by ssh without a password; also ssh:TARGET
  partition:INDEX      a GPU or a part of one: ROCR_VISIBLE_DEVICES or CUDA_VISIBLE_DEVICES

Each is started once and checked first: what cannot start there, or cannot be measured, ends the
command at once. Then they are measured in turns, in short units and a random order, until every
cell is precise enough for the margin or the budget is spent; the baseline is measured twice and
compared with itself. The end is a verdict for each cell, EQUAL, FASTER or SLOWER, with known error
rates, and what differs between the environments. If the command is repeated, it continues where
the earlier one stopped, and with --pairs 40 continues to that many. It exits with 0 if it
measured; for an exit status by verdict, run `assay compare FOLDER`.

The suite first, few short cells of memory, copies, launches and matrix products, decides within
three minutes on a quiet machine. --ranks and --hosts measure collectives and all else between
processes; --hosts fits no container, because ranks on other hosts would run outside it. After --
follows a load on LLM servers, with the options of `assay load`: --spawn starts a server in each
environment and each turn, --url names one that runs, as seen from there: two environments that
see the same server would measure its prefix cache.

The plan is written to the campaign's folder: `assay campaign` takes it, changed or not, and
`assay help campaigns` explains it.

  assay versus host docker:ubuntu:24.04
  assay versus host vm:root@vm7 --suite memory op=copy,triad size=64MiB
  assay versus host bubblewrap --margin 1% --budget 10min
  assay versus host docker:rocm/vllm --suite collective --ranks 8
  assay versus host vm:root@vm7 -- load --spawn "vllm serve MODEL --port {port}" --max-concurrency 8

)",
    .options =
        {
            {"--suite", "NAME",
             "what to measure: a suite, a benchmark or a suite file; default first, or the load "
             "alone",
             &target_names},
            {"--ranks", "N", "measure with N ranks in each environment, as for assay run", ""},
            {"--hosts", "LIST", "measure with ranks on these hosts, as for assay run", ""},
            {"--margin", "SHARE", "differences below this do not matter, default 2%", ""},
            {"--device", "NAME", "device to measure, as for assay run", ""},
            {"--unit-budget", "TIME",
             "time for measuring all cells once; default 0.75s for the suite first, 10s or more "
             "for "
             "others, less if --budget asks for it",
             ""},
            {"--budget", "TIME",
             "time for everything; default 3min for the suite first, 4h where a load starts "
             "servers, 10min for others",
             ""},
            {"--pairs", "N", "exactly N pairs, regardless of precision and budget", ""},
            {"--out", "DIR", "the campaign's folder; default ./campaigns/SUITE-ENVIRONMENTS",
             "folder", false, "--output"},
            {"--dry-run", "",
             "print each command, the order and the expected time, and start nothing", ""},
        },
    .run = &run,
    .operands = &environment_words,
};
const CommandRegistry::Add registered{&command};

}  // namespace
}  // namespace assay::cli::versus_command

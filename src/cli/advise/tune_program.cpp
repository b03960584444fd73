// assay tune command: finds the best setting of any program's parameters and proves it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "advise/tune/tuning_plan.h"
#include "cli/advise/tuning_run.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/example_plan.h"
#include "cli/interrupt.h"
#include "cli/metrics_view.h"
#include "core/secrets.h"
#include "measure/sampling/external.h"

namespace assay::cli::tune_program_command {
namespace {

std::string problem_of(const Record& record) {
  if (!record.reason.empty()) return record.reason;
  if (record.metrics.empty()) return "it reported nothing";
  return fmt::format("its {} is {}, not above 0", record.metrics.front().name,
                     record.metrics.front().value);
}

/// The logarithm of the plan's first metric, negated if lower is better, so that higher is faster.
TrialScore score_of(const std::vector<Record>& records) {
  const Record& record = records.front();
  const bool measured = record.status == RecordStatus::passed && !record.metrics.empty() &&
                        record.metrics.front().value > 0;
  if (!measured) return {std::nullopt, problem_of(record)};
  const Metric& metric = record.metrics.front();
  const double logarithm = std::log(metric.value);
  return {metric.better == Better::lower ? -logarithm : logarithm, ""};
}

TrialKind kind_of(const TuningPlan& plan) {
  const auto cell = [&plan](const Settings& settings) {
    std::vector<std::pair<std::string, std::string>> axes;
    for (const Setting& one : settings) axes.emplace_back(one.variable, one.value);
    return Cell(plan.command.name, axes);
  };
  return {cell,
          [&plan](const Settings& settings, const Record& blank,
                  double most_seconds) -> Result<std::vector<Record>> {
            ExternalCommand command = command_with(plan.command, settings);
            command.timeout_seconds = std::min(command.timeout_seconds, most_seconds);
            auto records = TRY(run_external(command, blank, &interrupt_requested));
            records.resize(1);
            records.front().cell = blank.cell;
            return records;
          },
          &score_of};
}

/// A variable that is to be unset in some runs must not come from this process's environment.
Status check_environment(const ParameterSpace& space) {
  for (const Parameter& parameter : space.parameters()) {
    const bool may_be_unset = std::count(parameter.values.begin(), parameter.values.end(), unset);
    if (!names_variable(parameter.name) || !may_be_unset) continue;
    const char* const value = std::getenv(parameter.name.c_str());
    if (value == nullptr) continue;
    return Error{ErrorKind::usage,
                 fmt::format("{0} is {1} in this environment, but the plan has runs without it; "
                             "start with: env -u {0} assay tune command ...",
                             parameter.name, hide_secret_value(parameter.name, value))};
  }
  return {};
}

/// The metric's value for a score: "1.234 ms".
TuningColumns columns_of(const TuningPlan& plan) {
  return {{{plan.command.metrics.front().name, Column::Align::right}},
          [](double score, const Trial& last) {
            Metric metric = last.records.front().metrics.front();
            metric.value = std::exp(metric.better == Better::lower ? -score : score);
            return std::vector{format_metric(metric)};
          }};
}

Result<int> run_tuning(const Arguments& arguments, Terminal& terminal) {
  if (arguments.positionals.size() != 2) {
    return Error{ErrorKind::usage,
                 "tune command takes one plan; example: assay tune command plan.yaml"};
  }
  const TuningPlan plan = TRY(load_tuning_plan(arguments.positionals[1]));
  TRY(check_environment(plan.space));
  TuningRun run = {plan.command.name, plan.text,     plan.space,
                   plan.rules,        kind_of(plan), columns_of(plan)};
  run.duration.most = plan.command.timeout_seconds;
  return run_tuning(run, arguments, terminal);
}

int run(const Arguments& arguments, Terminal& terminal) {
  if (arguments.has("--example")) {
    return print_example_plan(embedded_tunings(), arguments, terminal);
  }
  const auto status = run_tuning(arguments, terminal);
  return status.ok() ? *status : report(terminal, status.error());
}

const Command command = {
    .name = "tune command",
    .summary = "Find the best setting of any program's parameters, and prove it",
    .group = CommandGroup::tune,
    .positionals = "PLAN",
    .least_positionals = 1,
    .most_positionals = 2,
    .details =
        R"(PLAN names the program's command, its parameters (command-line arguments or, in capitals,
environment variables) with their values, conditions, and the metric to improve. A setting with
which the program crashes, times out or computes a wrong result has failed. The search and the proof
are those of `assay tune`; `assay help tune-command` says what a plan may hold.

  assay tune command --example triton > plan.yaml; assay tune command plan.yaml

)",
    .options = {{"--example", "NAME", "print an example plan and exit",
                 +[] { return names_of(embedded_tunings()); }},
                {"--dry-run", "", "show what would be tried, and for how long, and stop", ""},
                {"--out", "DIR", "output folder; default ./tuning", "folder", false, "--output"}},
    .run = &run,
};
const CommandRegistry::Add registered{&command};

}  // namespace
}  // namespace assay::cli::tune_program_command

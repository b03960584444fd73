#include "cli/advise/tuning_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <utility>

#include "advise/tune/tuning_journal.h"
#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "cli/option_values.h"
#include "compute/device/backend.h"
#include "core/json.h"
#include "machine/system/fingerprint.h"

namespace assay::cli {

std::string tuning_folder(const Arguments& arguments) {
  return arguments.get("--out", "tuning");
}

Result<TuningRules> read_tuning_rules(const Arguments& arguments, TuningRules rules) {
  constexpr std::uint64_t least_runs = 10, most_runs = 100'000;
  if (arguments.has("--pairs")) {
    rules.least_pairs = rules.most_pairs = TRY(proof_pairs(arguments.get("--pairs")));
  }
  if (arguments.has("--runs")) {
    rules.runs = TRY(whole_number("--runs", arguments.get("--runs"), least_runs, most_runs));
  }
  return rules;
}

Result<ParameterSpace> space_of(const std::vector<Parameter>& parameters,
                                const Arguments& arguments) {
  if (arguments.has("--combine")) return ParameterSpace::make(merged(parameters), {});
  return ParameterSpace::one_at_a_time(merged(parameters));
}

std::string tuning_plan_text(const std::string& what, const ParameterSpace& space,
                             const TuningRules& rules) {
  std::string text = what + "\n";
  for (const Parameter& parameter : space.parameters()) {
    text += fmt::format("{}: {}\n", parameter.name, fmt::join(parameter.values, ", "));
  }
  return text + fmt::format("settings: {}\nruns: {}\npairs: {}\n", space.size(), rules.runs,
                            rules.most_pairs);
}

Result<int> run_tuning(const TuningRun& run, const Arguments& arguments, Terminal& terminal) {
  if (arguments.has("--dry-run")) {
    terminal.print(
        arguments.has("--json")
            ? json_line(outlook_json(run.name, run.space, run.rules, run.duration)) + "\n"
            : outlook_text(run.name, run.space, run.rules, run.duration,
                           static_cast<std::size_t>(terminal.width()), terminal.out_style()));
    return exit_ok;
  }
  const std::string folder = tuning_folder(arguments);
  const auto backends = make_backends();
  catch_interrupts();
  TrialLog log = TRY(TrialLog::open(folder, run.plan, take_fingerprint(facts_of(backends))));
  terminal.note(fmt::format(
      "{}: {} settings, {} runs at most; {}\n", run.name, run.space.size(), run.rules.runs,
      log.kept() == 0 ? "stored in " + folder
                      : fmt::format("continuing in {} after {} runs", folder, log.kept())));
  Result<TuningResult> tuned = Error{};
  {
    TuningProgress progress(terminal, run.rules, run.columns);
    tuned = tune(run.space, run.rules, run.kind, log, progress.events());
  }
  if (!tuned.ok() && tuned.error().kind == ErrorKind::interrupted) {
    return stopped_tuning();
  }
  const TuningResult result = TRY(std::move(tuned));
  if (arguments.has("--json")) {
    terminal.print(json_line(tuning_json(run.name, run.space, result)) + "\n");
    return status_of(result);
  }
  terminal.print(search_text(run.space, result, run.columns,
                             static_cast<std::size_t>(terminal.width()), terminal.out_style()));
  if (run.details) terminal.print(run.details(result));
  terminal.print(conclusion_text(run.space, result));
  return status_of(result);
}

}  // namespace assay::cli

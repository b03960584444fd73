#include "cli/advise/tune_benchmark.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "advise/tune/benchmark_trial.h"
#include "cli/advise/proof_view.h"
#include "cli/advise/tuning_run.h"
#include "cli/cli.h"
#include "cli/interrupt.h"
#include "cli/results_view.h"
#include "compute/device/backend.h"
#include "core/own_binary.h"
#include "measure/suites/cells_of_target.h"
#include "statistics/paired.h"

namespace assay::cli {
namespace {

struct Request {
  std::string benchmark;
  std::vector<std::string> words;  ///< the command to run, beginning with the path of this program
  ParameterSpace space;
  TuningRules rules;
};

Result<std::vector<Parameter>> usual_ones(const std::string& benchmark,
                                          const Arguments& arguments) {
  auto backends = make_backends();
  const auto device = TRY(open_device(backends, arguments.get("--device")));
  const DeviceFacts& facts = device->facts();
  auto parameters = usual_parameters(facts.is_nvidia() ? "nccl" : facts.is_amd() ? "rccl" : "");
  if (benchmark == "collective" && !parameters.empty()) return parameters;
  return Error{ErrorKind::usage,
               fmt::format("no settings are known for {} on {}; name variables and their values, "
                           "e.g. OMP_NUM_THREADS=1,2,4",
                           benchmark, facts.backend)};
}

Result<Request> read_request(const Arguments& arguments) {
  Request request;
  request.benchmark = arguments.positionals.front();
  request.words = {TRY(own_binary()), "run", request.benchmark};
  std::vector<Parameter> parameters;
  std::vector<AxisSetting> axes;
  for (std::size_t i = 1; i < arguments.positionals.size(); ++i) {
    const std::string& word = arguments.positionals[i];
    if (names_variable(word)) {
      parameters.push_back(TRY(parse_parameter(word)));
    } else {
      axes.push_back(TRY(parse_axis_setting(word)));
      request.words.push_back(word);
    }
  }
  TRY(make_plan(request.benchmark, axes));  // so that mistakes are reported before anything runs
  request.rules = TRY(read_tuning_rules(arguments, {.least_pairs = 10, .most_pairs = 10}));
  if (parameters.empty()) parameters = TRY(usual_ones(request.benchmark, arguments));
  request.space = TRY(space_of(parameters, arguments));
  for (const auto& [option, of_run] : {std::pair{"--device", "--device"},
                                       {"--ranks", "--ranks"},
                                       {"--hosts", "--hosts"},
                                       {"--unit-budget", "--budget"}}) {
    if (!arguments.has(option)) continue;
    request.words.insert(request.words.end(), {of_run, arguments.get(option)});
  }
  request.words.insert(request.words.end(), {"--telemetry", "off", "--out", "-"});
  return request;
}

TrialKind kind_of(const Request& request) {
  return {[&request](const Settings& settings) {
            return with_setting(Cell(request.benchmark, {}), settings);
          },
          [&request](const Settings& settings, const Record&, double most_seconds) {
            return run_benchmark(request.words, settings, most_seconds, &interrupt_requested);
          },
          BenchmarkScore()};
}

/// A column with the cell's value; empty if there are several cells.
TuningColumns columns_of() {
  return {{{"value", Column::Align::right, 1}}, [](double score, const Trial& last) {
            if (last.records.size() != 1) return std::vector{std::string()};
            Value value = *last.records.front().value;
            value.median = std::exp(value.quantity == Quantity::latency ? -score : score);
            return std::vector{format_value(value)};
          }};
}

/// A table of the proof's result for each cell: a gain over all cells may be a loss in one.
std::string cells_text(const TuningResult& result, std::size_t width, const Style& style) {
  if (!result.proof || result.proof->pairs.size() < least_units) return "";
  std::map<std::string, std::vector<ScorePair>> cells;
  for (const TrialPair& pair : result.proof->pairs) {
    const auto usual = speeds_of(pair.usual.records), best = speeds_of(pair.best.records);
    for (const auto& [cell, speed] : usual) {
      const auto at = best.find(cell);
      if (at != best.end()) cells[cell].push_back({std::log(speed), std::log(at->second)});
    }
  }
  if (cells.size() < 2) return "";
  Table table({{"cell"},
               {"gain", Column::Align::right},
               {"95%", Column::Align::right, 2},
               {"", Column::Align::left, 1}});
  for (const auto& [cell, pairs] : cells) {
    const Proof proof = prove(pairs);
    table.add({cell, fmt::format("{:+.1f}%", (proof.ratio - 1) * 100),
               fmt::format("{:+.1f} to {:+.1f}%", (proof.interval95.low - 1) * 100,
                           (proof.interval95.high - 1) * 100),
               proof.better  ? style.green("better")
               : proof.worse ? style.red("worse")
                             : ""});
  }
  return "in the proof\n" + table.render(width, style);
}

Result<int> tune_request(const Arguments& arguments, Terminal& terminal) {
  const Request request = TRY(read_request(arguments));
  const std::string plan = tuning_plan_text(
      fmt::format("{}", fmt::join(request.words.begin() + 1, request.words.end(), " ")),
      request.space, request.rules);
  const TuningRun run = {request.benchmark,
                         plan,
                         request.space,
                         request.rules,
                         kind_of(request),
                         columns_of(),
                         [&](const TuningResult& result) {
                           return cells_text(result, static_cast<std::size_t>(terminal.width()),
                                             terminal.out_style());
                         }};
  return run_tuning(run, arguments, terminal);
}

/// Options that apply only if environment variables are tuned.
const std::vector<Option>& variable_options() {
  static const std::vector<Option> options = {
      {"--ranks", "N", "of a run, as for `assay run`", ""},
      {"--hosts", "LIST", "of a run, as for `assay run`", ""},
      {"--combine", "", "try every combination of the variables' values instead of each alone", ""},
      {"--runs", "N", "most runs of the search for values, default 200", ""},
  };
  return options;
}

/// Error: usage, naming the first of `options` that is given: it does not apply to `what`.
Status refuse_options(const Arguments& arguments, const std::vector<Option>& options,
                      std::string_view what) {
  for (const Option& option : options) {
    if (!arguments.has(option.name)) continue;
    return Error{ErrorKind::usage, fmt::format("{} does not apply to {}", option.name, what)};
  }
  return {};
}

}  // namespace

std::vector<Option> with_variable_options(std::vector<Option> options) {
  options.insert(options.end(), variable_options().begin(), variable_options().end());
  return options;
}

int tune_benchmark(const Arguments& arguments, Terminal& terminal) {
  const auto status = tune_request(arguments, terminal);
  return status.ok() ? *status : report(terminal, status.error());
}

int tune_variables_or(int (*search)(const Arguments&, Terminal&), const std::vector<Option>& own,
                      const Arguments& arguments, Terminal& terminal) {
  const auto& words = arguments.positionals;
  const bool variables = std::any_of(words.begin() + 1, words.end(), names_variable);
  const Status fits =
      variables ? refuse_options(arguments, own, "tuning a VARIABLE")
                : refuse_options(arguments, variable_options(),
                                 fmt::format("{} without a VARIABLE to try", words.front()));
  if (!fits.ok()) return report(terminal, fits.error());
  return variables ? tune_benchmark(arguments, terminal) : search(arguments, terminal);
}

}  // namespace assay::cli

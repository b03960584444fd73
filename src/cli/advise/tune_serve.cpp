// assay tune serve: tunes the parameters of an LLM server.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "advise/tune/benchmark_trial.h"
#include "advise/tune/server_trial.h"
#include "cli/advise/tuning_run.h"
#include "cli/cli.h"
#include "cli/interrupt.h"
#include "cli/metrics_view.h"
#include "cli/parse.h"
#include "cli/results_store.h"
#include "cli/results_view.h"
#include "cli/serving/load_output.h"
#include "cli/serving/load_request.h"
#include "cli/serving/load_servers.h"
#include "core/secrets.h"
#include "serving/spawn.h"
#include "statistics/paired.h"

namespace assay::cli::tune_serve_command {
namespace {

// ---- What the user asks for ----

constexpr std::size_t usual_warm_up = 16;  // requests, if the load has no cap

struct TuneServeRequest {
  std::vector<std::string> words;  ///< as given, which is what the results depend on
  SpawnPlan spawn;                 ///< with default settings, without log path
  LoadRequest load;                ///< one point, without servers
  ParameterSpace space;
  TuningRules rules;
  std::vector<LatencyLimit> limits;
  std::string folder;
};

/// The words before the load's options: "serve", the command, the settings to try.
std::vector<std::string> words_before_load(const Arguments& arguments) {
  const auto& words = arguments.positionals;
  const auto end = std::find_if(words.begin(), words.end(),
                                [](const std::string& word) { return word.starts_with('-'); });
  return {words.begin(), end};
}

Result<Arguments> load_arguments(std::vector<std::string> words) {
  words.insert(words.begin(), "load");
  const auto parsed = parse(words);
  if (!parsed) return about("after --", parsed.error());
  for (const char* option :
       {"--url", "--spawn", "--out", "--save-vllm", "--check", "--json", "--help"}) {
    if (parsed->arguments.has(option)) {
      return Error{
          ErrorKind::usage,
          fmt::format("after --: {} is not allowed in tuning; only options that describe the load "
                      "are, e.g. --max-concurrency 64",
                      option)};
    }
  }
  return parsed->arguments;
}

Status read_tuned_load(const Arguments& options, TuneServeRequest& request) {
  request.load = TRY(read_load_request(options));
  if (request.load.points.size() != 1) {
    return Error{ErrorKind::usage, fmt::format("after --: {} load points; tuning takes one, e.g. "
                                               "--max-concurrency 64",
                                               request.load.points.size())};
  }
  LoadSettings& settings = request.load.settings;
  const LoadPoint& point = request.load.points.front();
  if (!options.has("--warm-up")) {
    settings.warm_up =
        std::min(point.max_concurrency > 0 ? point.max_concurrency : usual_warm_up, point.requests);
  }
  for (const LatencyLimit& limit : request.limits) {
    auto& percents = settings.analysis.percents;
    const bool known =
        !limit.percent || std::count(percents.begin(), percents.end(), *limit.percent) > 0;
    if (!known) percents.push_back(*limit.percent);
  }
  return {};
}

/// Error: usage, naming what is wrong.
Result<TuneServeRequest> read_tune_serve(const Arguments& arguments) {
  const std::vector<std::string> words = words_before_load(arguments);
  if (words.size() < 3) {
    return Error{ErrorKind::usage,
                 "nothing to try; example: assay tune serve \"vllm serve MODEL --port {port}\" "
                 "max-num-seqs=128,256 -- --max-concurrency 64"};
  }
  TuneServeRequest request;
  std::vector<Parameter> parameters;
  for (std::size_t i = 2; i < words.size(); ++i) {
    parameters.push_back(TRY(parse_server_parameter(words[i])));
  }
  request.space = TRY(space_of(parameters, arguments));
  if (arguments.has("--limit")) {
    auto limits = parse_latency_limits(arguments.get("--limit"));
    if (!limits) return about("--limit", limits.error());
    request.limits = *std::move(limits);
  }
  request.rules = TRY(read_tuning_rules(
      arguments, {.runs = 60, .least_pairs = least_units, .most_pairs = least_units}));
  const auto& positionals = arguments.positionals;
  request.words = positionals;
  const Arguments options = TRY(load_arguments(
      {positionals.begin() + static_cast<std::ptrdiff_t>(words.size()), positionals.end()}));
  request.spawn = TRY(read_spawn_plan(options, words[1]));
  TRY(read_tuned_load(options, request));
  request.folder = tuning_folder(arguments);
  if (request.folder == pipe) {
    return Error{ErrorKind::usage, "--out: tuning needs a folder for the output of the servers"};
  }
  return request;
}

// ---- The trials ----

/// Measures settings, each on servers of its own.
class ServerTrials {
 public:
  ServerTrials(const TuneServeRequest& request, Terminal& terminal)
      : request_(request), terminal_(terminal) {}

  /// Errors of servers or load are the setting's result. Error: interrupted.
  Result<std::vector<Record>> measure(const Settings& settings, const Record& blank) {
    LoadRequest load = request_.load;
    auto report = load_servers(settings, blank.run, load);
    if (interrupt_requested() || (report.ok() && report->interrupted)) {
      return Error{ErrorKind::interrupted, "stopped"};
    }
    const LoadReport loaded = TRY(std::move(report));
    warn_of_thin_load(loaded.result);
    simulated_ = load.simulated;
    Record record = load_record(load, loaded);
    record.cell = with_setting(record.cell, settings);
    return std::vector{std::move(record)};
  }

  bool simulated() const { return simulated_; }

 private:
  /// Starts servers, loads them and stops them before returning.
  Result<LoadReport> load_servers(const Settings& settings, const std::string& run,
                                  LoadRequest& load) {
    SpawnPlan plan = request_.spawn;
    plan.words = with_parameters(std::move(plan.words), settings);
    for (const auto& variable : variables_of(settings)) plan.variables.push_back(variable);
    plan.logs = server_logs(request_.folder, run);
    const auto servers = TRY(spawn_servers(plan, terminal_));
    load.urls = servers->urls();
    load.notes = spawn_notes(plan);
    TRY(find_servers(load));
    LoadProgress progress(terminal_, text_of(settings));
    auto report = TRY(run_point(
        load.settings, load.points.front(),
        [&] { return interrupt_requested() || !servers->check().ok(); },
        [&](const LoadState& state) { progress.show(state); }));
    TRY(servers->check());
    return report;
  }

  /// Once, if the server kept up with an open loop, whose throughput is then just the offered rate.
  void warn_of_thin_load(const ServingResult& result) {
    if (warned_ || result.goodput) return;
    if (!result.load.is_open_loop() || result.saturation.saturated) return;
    warned_ = true;
    terminal_.note(
        "the server kept up with the rate, so every setting has the same throughput; use "
        "--max-concurrency or --request-rate inf to load it fully\n");
  }

  const TuneServeRequest& request_;
  Terminal& terminal_;
  bool warned_ = false;
  bool simulated_ = false;  ///< LoadRequest::simulated
};

TrialKind kind_of(const TuneServeRequest& request, ServerTrials& trials) {
  return {[](const Settings& settings) { return with_setting(Cell("serving", {}), settings); },
          // The load has limits for time of its own.
          [&trials](const Settings& settings, const Record& blank, double) {
            return trials.measure(settings, blank);
          },
          [&request](const std::vector<Record>& records) {
            return score_of(records.front(), request.limits);
          }};
}

/// Throughput and latencies of a setting's last run.
TuningColumns columns_of(const LoadRequest& load) {
  struct Shown {
    const char *title, *metric;
    int importance;
  };
  std::vector<Shown> shown = {{"tokens/s", "output_throughput", 0},
                              {"TTFT p99", "p99_ttft", 3},
                              {"TPOT mean", "mean_tpot", 5},
                              {"E2EL p99", "p99_e2el", 2}};
  if (load.settings.analysis.goodput.any()) {
    shown.insert(shown.begin() + 1, {"good req/s", "request_goodput", 4});
  }
  TuningColumns columns;
  for (const Shown& one : shown) {
    columns.columns.push_back({one.title, Column::Align::right, one.importance});
  }
  columns.texts = [shown](double, const Trial& last) {
    std::vector<std::string> texts;
    for (const Shown& one : shown) texts.push_back(metric_text(last.records.front(), one.metric));
    return texts;
  };
  return columns;
}

/// The mean time in which a load's requests arrive; empty if they have no constant rate.
std::optional<double> seconds_of_arrivals(const LoadRequest& load) {
  const LoadPoint& point = load.points.front();
  const bool constant = !load.settings.ramp && !load.settings.recorded_speed;
  if (!constant || std::isinf(point.request_rate)) return std::nullopt;
  return static_cast<double>(point.requests) / point.request_rate;
}

int run(const Arguments& arguments, Terminal& terminal) {
  const auto request = read_tune_serve(arguments);
  if (!request.ok()) return report(terminal, request.error());
  ServerTrials trials(*request, terminal);
  std::vector<std::string> given = request->words;
  given[1] = fmt::format("{}", fmt::join(hide_secrets(request->spawn.words), " "));
  std::string words = fmt::format("{}", fmt::join(hide_secrets(given), "\n"));
  if (arguments.has("--limit")) words += "\n--limit " + arguments.get("--limit");
  TuningRun run = {"server",
                   tuning_plan_text(words, request->space, request->rules),
                   request->space,
                   request->rules,
                   kind_of(*request, trials),
                   columns_of(request->load)};
  run.duration.arrivals = seconds_of_arrivals(request->load);
  const auto status = run_tuning(run, arguments, terminal);
  if (trials.simulated()) terminal.note(model_footnote);
  return status.ok() ? *status : report(terminal, status.error());
}

const Command command = {
    .name = "tune serve",
    .summary = "Find the best parameters of an LLM server under a load, and prove them",
    .group = CommandGroup::tune,
    .positionals = "COMMAND PARAMETER[=VALUE[,VALUE...]]... [VARIABLE=VALUE[,VALUE...]]... -- LOAD",
    .least_positionals = 1,
    .most_positionals = 128,
    .details =
        R"(COMMAND starts the server, with {port} in place of the port; then come its parameters without
dashes (a flag is just its name) and environment variables; then, after --, one point of load as for
`assay load`. Every run starts the server with its setting, warms it up and loads it. The score is
output throughput, or goodput if the load has --goodput; with --limit, only runs that keep the limit
count. So the load must saturate the server. The folder keeps the servers' output, too. The search
and the proof are those of `assay tune`.

  assay tune serve "vllm serve MODEL --port {port}" max-num-seqs=128,256,512 --limit p99_e2el:30s \
    -- --max-concurrency 256 --requests 4x

)",
    .options = {{"--limit", "LATENCIES",
                 "limits that a trial must meet, e.g. p99_e2el:500ms,mean_ttft:200ms", ""},
                {"--combine", "", "try every combination of values instead of each alone", ""},
                {"--runs", "N", "most runs of the search, default 60", ""},
                {"--pairs", "N", "pairs of runs in the proof, an even number from 6, default 6",
                 ""},
                {"--dry-run", "", "show what would be tried, and for how long, and stop", ""},
                {"--out", "DIR", "output folder; default ./tuning", "folder", false, "--output"}},
    .run = &run,
};
const CommandRegistry::Add registered{&command};

}  // namespace
}  // namespace assay::cli::tune_serve_command

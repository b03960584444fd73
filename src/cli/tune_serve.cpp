#include "cli/tune_serve.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "cli/cli.h"
#include "cli/interrupt.h"
#include "cli/load_output.h"
#include "cli/load_request.h"
#include "cli/load_servers.h"
#include "cli/parse.h"
#include "cli/proof_view.h"
#include "cli/results_store.h"
#include "cli/table.h"
#include "compute/device/backend.h"
#include "core/json.h"
#include "core/units.h"
#include "machine/system/fingerprint.h"
#include "measure/sampling/runner.h"
#include "serving/spawn.h"
#include "statistics/paired.h"
#include "tune/server_trial.h"

namespace assay::cli {
namespace {

// ---- What the user asks for ----

constexpr std::size_t usual_warm_up = 16;  // requests, if the load has no cap

struct TuneServeRequest {
  SpawnPlan spawn;   ///< with default settings, without log path
  LoadRequest load;  ///< one point, without servers
  std::vector<Settings> candidates;
  std::vector<LatencyLimit> limits;
  std::size_t pairs = least_units;
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
  for (const char* option : {"--url", "--spawn", "--out", "--save-vllm", "--json", "--help"}) {
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

Result<std::size_t> read_proof_pairs(const Arguments& arguments) {
  const auto pairs = parse_integer(arguments.get("--pairs", fmt::format("{}", least_units)));
  if (!pairs || *pairs < least_units || *pairs > most_proof_pairs) {
    return Error{ErrorKind::usage,
                 fmt::format("--pairs \"{}\" is not allowed; allowed: {} to {}, since fewer pairs "
                             "prove nothing",
                             arguments.get("--pairs"), least_units, most_proof_pairs)};
  }
  return static_cast<std::size_t>(*pairs);
}

/// Error: usage, naming what is wrong.
Result<TuneServeRequest> read_tune_serve(const Arguments& arguments) {
  for (const char* option : {"--device", "--ranks", "--hosts", "--budget"}) {
    if (arguments.has(option)) {
      return Error{ErrorKind::usage, fmt::format("{} does not apply to serve", option)};
    }
  }
  const std::vector<std::string> words = words_before_load(arguments);
  if (words.size() < 3) {
    return Error{ErrorKind::usage,
                 "nothing to try; example: assay tune serve \"vllm serve MODEL --port {port}\" "
                 "max-num-seqs=128,256 -- --max-concurrency 64"};
  }
  TuneServeRequest request;
  std::vector<std::vector<Setting>> settings;
  for (std::size_t i = 2; i < words.size(); ++i) {
    settings.push_back(TRY(parse_server_setting(words[i])));
  }
  request.candidates = TRY(candidates(settings, arguments.has("--combine")));
  if (arguments.has("--limit")) {
    auto limits = parse_latency_limits(arguments.get("--limit"));
    if (!limits) return about("--limit", limits.error());
    request.limits = *std::move(limits);
  }
  request.pairs = TRY(read_proof_pairs(arguments));
  const auto& positionals = arguments.positionals;
  const Arguments options = TRY(load_arguments(
      {positionals.begin() + static_cast<std::ptrdiff_t>(words.size()), positionals.end()}));
  request.spawn = TRY(read_spawn_plan(options, words[1]));
  TRY(read_tuned_load(options, request));
  request.folder = arguments.get("--out", "tuning");
  if (request.folder == pipe) {
    return Error{ErrorKind::usage, "--out: tuning needs a folder for the output of the servers"};
  }
  return request;
}

// ---- What is shown ----

/// The gain of the score over that of the first trial, which has the default settings.
std::string score_gain(const ServerTrial& trial, const ServerTrial& first) {
  if (!trial.score.value || !first.score.value) return "-";
  return fmt::format("{:+.1f}%", (*trial.score.value / *first.score.value - 1) * 100);
}

std::string p99_text(const Latency& latency) {
  const Percentile* p99 = latency.percentile(99);
  return p99 == nullptr ? "-" : format_seconds(p99->value);
}

Json trial_json(const ServerTrial& trial) {
  Json json = {{"settings", Json::object()}};
  for (const Setting& setting : trial.settings) json["settings"][setting.variable] = setting.value;
  if (trial.score.value) json["score"] = *trial.score.value;
  if (!trial.score.problem.empty()) json["problem"] = trial.score.problem;
  if (trial.result) {
    const ServingResult& result = *trial.result;
    json["output_throughput"] = result.output_throughput;
    json["request_throughput"] = result.request_throughput;
    if (result.goodput) json["goodput"] = *result.goodput;
    json["mean_ttft"] = result.ttft.mean;
    json["mean_tpot"] = result.tpot.mean;
    if (const Percentile* p99 = result.e2el.percentile(99)) json["p99_e2el"] = p99->value;
  }
  return json;
}

/// A row for each trial, with problems listed below; `best`: the number of the best trial; empty:
/// none counts.
std::string server_trials_text(const std::vector<ServerTrial>& trials,
                               std::optional<std::size_t> best, std::size_t width,
                               const Style& style) {
  Table table({{"setting"},
               {"gain", Column::Align::right},
               {"tokens/s", Column::Align::right},
               {"good req/s", Column::Align::right, 4},
               {"TTFT p99", Column::Align::right, 3},
               {"TPOT mean", Column::Align::right, 5},
               {"E2EL p99", Column::Align::right, 2},
               {"", Column::Align::left, 1}});
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const ServerTrial& trial = trials[i];
    const std::string remark = !trial.score.value      ? style.red("failed")
                               : !trial.score.counts() ? style.yellow("limit")
                               : i == best             ? style.green("best")
                                                       : "";
    const std::string gain = i == 0 ? "" : score_gain(trial, trials[0]);
    if (!trial.result) {
      table.add({text_of(trial.settings), gain, "-", "-", "-", "-", "-", remark});
      continue;
    }
    const ServingResult& result = *trial.result;
    table.add({text_of(trial.settings), gain, format_significant(result.output_throughput),
               result.goodput ? format_significant(*result.goodput) : "-", p99_text(result.ttft),
               format_seconds(result.tpot.mean), p99_text(result.e2el), remark});
  }
  std::string text = table.render(width, style);
  for (const ServerTrial& trial : trials) {
    if (trial.score.problem.empty()) continue;
    text += fmt::format("  {}: {}\n", text_of(trial.settings), trial.score.problem);
  }
  return text;
}

/// One sentence.
std::string server_proof_text(const ServerProof& proof, const Settings& best) {
  const std::string kept = proof.kept_best + proof.kept_as_it_is == 2 * proof.runs
                               ? ""
                               : fmt::format("; good in {} of {} runs, the defaults in {}",
                                             proof.kept_best, proof.runs, proof.kept_as_it_is);
  return fmt::format("{}: {}{}: {}\n", text_of(best), proof_text(proof.speed), kept,
                     proof.proven ? "better, proven" : "not proven; more --pairs may tell");
}

/// Everything as one object; `proof` is empty if there was nothing to test.
Json server_tuning_json(const std::vector<ServerTrial>& trials, std::optional<std::size_t> best,
                        const std::optional<ServerProof>& proof,
                        const std::vector<ServerPair>& pairs) {
  Json json = {{"trials", Json::array()}};
  for (const ServerTrial& trial : trials) json["trials"].push_back(trial_json(trial));
  json["best"] = best ? Json(*best) : Json(nullptr);
  if (!proof) return json;
  const auto score = [](const ServerScore& one) {
    return one.value ? Json(*one.value) : Json(nullptr);
  };
  Json values = Json::array();
  for (const ServerPair& pair : pairs) {
    values.push_back(Json::array({score(pair.as_it_is), score(pair.best)}));
  }
  json["proof"] = {{"pairs", std::move(values)},
                   {"kept_as_it_is", proof->kept_as_it_is},
                   {"kept_best", proof->kept_best},
                   {"ratio", proof->speed.ratio},
                   {"interval95", {proof->speed.interval95.low, proof->speed.interval95.high}},
                   {"proven", proof->proven}};
  return json;
}

// ---- The tuning ----

/// Measures settings, each on servers of its own, and keeps the records.
class ServerTuner {
 public:
  ServerTuner(const TuneServeRequest& request, Store store, std::string fingerprint,
              Terminal& terminal)
      : request_(request),
        store_(std::move(store)),
        fingerprint_(std::move(fingerprint)),
        terminal_(terminal) {}

  /// Errors of servers or load become the trial's problem. `label`: "[2/7]". `part` of the tuning:
  /// "trial" or "proof". Error: interrupted, or from the store.
  Result<ServerTrial> measure(const Settings& settings, const std::string& label,
                              const std::string& part) {
    ServerTrial trial;
    trial.settings = settings;
    terminal_.note(fmt::format("{} {}\n", label, text_of(settings)));
    const std::string run = new_run_id();
    LoadRequest load = request_.load;
    auto report = load_servers(settings, label, run, load);
    if (interrupt_requested() || (report.ok() && report->interrupted)) {
      return Error{ErrorKind::interrupted, "stopped; results so far are stored"};
    }
    if (!report.ok()) {
      trial.score.problem = report.error().message;
      return trial;
    }
    Record record = load_record(load, *report);
    record.run = run;
    record.fingerprint = fingerprint_;
    record.notes.emplace_back("tuning", part);
    record.notes.emplace_back("setting", text_of(settings));
    TRY(store_.append(record));
    trial.score = score_of(report->result, request_.limits);
    trial.result = std::move(report->result);
    return trial;
  }

  /// Alternates the two, each first equally often, so that drift favours neither. Error: as from
  /// measure().
  Result<std::vector<ServerPair>> measure_pairs(const Settings& best) {
    std::vector<ServerPair> pairs(request_.pairs);
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      for (std::size_t turn = 0; turn < 2; ++turn) {
        const bool is_best = is_turn_of_best(i, turn);
        const std::string label = fmt::format("[proof {}/{}]", i + 1, pairs.size());
        ServerTrial trial = TRY(measure(is_best ? best : Settings(), label, "proof"));
        if (!trial.score.problem.empty()) terminal_.note("  " + trial.score.problem + "\n");
        (is_best ? pairs[i].best : pairs[i].as_it_is) = std::move(trial.score);
      }
    }
    return pairs;
  }

 private:
  /// Starts servers, loads them and stops them before returning.
  Result<LoadReport> load_servers(const Settings& settings, const std::string& label,
                                  const std::string& run, LoadRequest& load) {
    SpawnPlan plan = request_.spawn;
    plan.words = with_parameters(std::move(plan.words), settings);
    for (const auto& variable : variables_of(settings)) plan.variables.push_back(variable);
    plan.logs = server_logs(request_.folder, run);
    const auto servers = TRY(spawn_servers(plan, terminal_));
    load.urls = servers->urls();
    load.notes = spawn_notes(plan);
    TRY(find_servers(load));
    LoadProgress progress(terminal_, label);
    auto report = TRY(run_point(
        load.settings, load.points.front(),
        [&] { return interrupt_requested() || !servers->check().ok(); },
        [&](const LoadState& state) { progress.show(state); }));
    TRY(servers->check());
    return report;
  }

  const TuneServeRequest& request_;
  Store store_;
  const std::string fingerprint_;
  Terminal& terminal_;
};

/// Warns if the server kept up with an open loop, whose throughput is then just the offered rate.
void warn_of_thin_load(const std::vector<ServerTrial>& trials, Terminal& terminal) {
  for (const ServerTrial& trial : trials) {
    if (!trial.result || trial.result->goodput) continue;
    if (!trial.result->load.is_open_loop() || trial.result->saturation.saturated) continue;
    terminal.note(
        "the server kept up with the rate, so every setting has the same throughput; use "
        "--max-concurrency or --request-rate inf to load it fully\n");
    return;
  }
}

Result<int> tune_server(const TuneServeRequest& request, bool json, Terminal& terminal) {
  std::optional<Store> store;
  const auto backends = make_backends();
  const std::string fingerprint =
      TRY(keep_fingerprint(request.folder, take_fingerprint(facts_of(backends)), store, terminal));
  ServerTuner tuner(request, std::move(*store), fingerprint, terminal);
  std::vector<ServerTrial> trials;
  for (const Settings& settings : request.candidates) {
    trials.push_back(TRY(tuner.measure(
        settings, fmt::format("[{}/{}]", trials.size() + 1, request.candidates.size()), "trial")));
    if (trials.size() > 1 || trials[0].score.value) continue;
    return Error{
        ErrorKind::unavailable,
        fmt::format("nothing was measured with the default settings: {}", trials[0].score.problem)};
  }
  const auto best = best_of(trials);
  if (!json) {
    terminal.print(server_trials_text(trials, best, static_cast<std::size_t>(terminal.width()),
                                      terminal.out_style()));
    terminal.flush();
  }
  warn_of_thin_load(trials, terminal);
  std::vector<ServerPair> pairs;
  std::optional<ServerProof> proof;
  if (best.value_or(0) > 0) {
    pairs = TRY(tuner.measure_pairs(trials[*best].settings));
    proof = prove(pairs);
  }
  if (json) {
    terminal.print(server_tuning_json(trials, best, proof, pairs).dump() + "\n");
  } else if (proof) {
    terminal.print(server_proof_text(*proof, trials[*best].settings));
  }
  terminal.note(fmt::format("stored in {0}; output of the servers: {0}/servers\n", request.folder));
  if (!best) terminal.note("no setting met --limit\n");
  if (best == 0) terminal.note("no setting was better than the defaults\n");
  if (!best) return exit_nothing_ran;
  return !proof || proof->proven ? exit_ok : exit_inconclusive;
}

}  // namespace

int tune_serve(const Arguments& arguments, Terminal& terminal) {
  const auto request = read_tune_serve(arguments);
  if (!request.ok()) return report(terminal, request.error());
  catch_interrupts();
  const auto status = tune_server(*request, arguments.has("--json"), terminal);
  return status.ok() ? *status : report(terminal, status.error());
}

}  // namespace assay::cli

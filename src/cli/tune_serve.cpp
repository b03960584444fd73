#include "cli/tune_serve.h"

#include <fmt/format.h>

#include "cli/cli.h"
#include "cli/interrupt.h"
#include "cli/load_spawn.h"
#include "cli/load_view.h"
#include "cli/results_store.h"
#include "cli/tune_serve_request.h"
#include "cli/tune_serve_view.h"
#include "compute/device/backend.h"
#include "machine/system/fingerprint.h"
#include "measure/sampling/runner.h"

namespace assay::cli {
namespace {

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
        const bool is_best = (i + turn) % 2 == 1;
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

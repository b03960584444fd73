// assay load: loads LLM servers and reports what they can do.
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <iterator>

#include "cli/cli.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/option_values.h"
#include "cli/results_store.h"
#include "cli/results_view.h"
#include "cli/serving/load_calibrate.h"
#include "cli/serving/load_find_rate.h"
#include "cli/serving/load_output.h"
#include "cli/serving/load_request.h"
#include "cli/serving/load_servers.h"
#include "compute/device/backend.h"
#include "core/json.h"
#include "core/unix_time.h"
#include "core/write_file.h"
#include "judge/compare/emulated.h"
#include "machine/system/fingerprint.h"
#include "measure/sampling/runner.h"
#include "results/import/serving.h"
#include "results/store/record_json.h"
#include "results/traces/writing/trace_writer.h"
#include "serving/client/http_call.h"
#include "serving/results/load_timeline.h"
#include "serving/results/passes.h"
#include "serving/results/vllm_json.h"

namespace assay::cli::load_command {
namespace {

/// Where the results of all points are stored.
struct Keeper {
  std::optional<Store> store;
  std::string run, fingerprint;
  std::string folder;
  std::string vllm_path, vllm_text;
  bool vllm_details = false, json = false;
  std::optional<Price> price;  ///< of the costs in what is shown
};

std::string compact_date() {
  const std::time_t time = std::time(nullptr);
  std::tm parts = {};
  ::localtime_r(&time, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof(text), "%Y%m%d-%H%M%S", &parts)};
}

Status keep(Record& record, Keeper& keeper, Terminal& terminal) {
  record.run = keeper.run;
  record.fingerprint = keeper.fingerprint;
  if (keeper.store) TRY(keeper.store->append(record));
  if (keeper.json) {
    add_costs(record, keeper.price);
    terminal.print(json_line(to_json(record)) + "\n");
    terminal.flush();
  }
  return {};
}

/// Adds a line to the file of --save-vllm.
Status keep_for_vllm(const LoadRequest& request, const LoadReport& report, Keeper& keeper) {
  if (keeper.vllm_path.empty()) return {};
  VllmNames names;
  names.date = compact_date();
  names.endpoint_type = request.settings.plan.request.api == Api::chat ? "openai-chat" : "openai";
  names.model_id = names.tokenizer_id = request.settings.plan.request.model;
  if (request.simulated) names.label = simulated_label;
  keeper.vllm_text +=
      vllm_json(names, report.result, keeper.vllm_details ? &report.logs : nullptr) + "\n";
  return write_file(keeper.vllm_path, keeper.vllm_text);
}

/// The timeline of --trace.
class Recorder {
 public:
  /// `from`: when the command began, in ns since 1970.
  explicit Recorder(std::int64_t from) : from_(from), timeline_(from) {}

  void add(const LoadReport& report, std::string_view label) {
    timeline_.add_requests(report.logs, unix_time(report.begin), label);
  }

  /// Asks the servers for their steps, and returns the file's text. Error: as whole_trace().
  Result<std::string> file(const LoadRequest& request, TraceFileKind kind) && {
    if (request.simulated) timeline_.note(model_footnote);
    const auto& targets = request.settings.targets;
    for (std::size_t i = 0; i < targets.size(); ++i) {
      const std::string url = text_of(request.urls[i]);
      constexpr double patience = 10;  // seconds
      const auto reply =
          http_call(targets[i], "GET", "/steps", request.settings.plan.fields, "", patience);
      const Status added = !reply.ok() ? Status(reply.error())
                           : reply->status != 200
                               ? Status(Error{ErrorKind::unsupported, "it has no page /steps"})
                               : timeline_.add_steps(reply->body, i, url, from_);
      if (!added.ok()) {
        timeline_.note(fmt::format("the steps of {} are not here: {}", url, added.error().message));
      }
    }
    const Timeline timeline = std::move(timeline_).finish();
    return whole_trace({trace_part(timeline, kind.format, 0, from_)}, kind, from_);
  }

 private:
  std::int64_t from_;
  LoadTimeline timeline_;
};

/// One run of the command, point by point.
class Session {
 public:
  /// `servers`: those started for this run, or null. `telemetry`, `recorder`: null if off.
  Session(const SpawnedServers* servers, std::unique_ptr<TelemetryRecorder> telemetry,
          Recorder* recorder, Keeper& keeper, Terminal& terminal)
      : servers_(servers),
        telemetry_(std::move(telemetry)),
        recorder_(recorder),
        keeper_(keeper),
        terminal_(terminal) {}

  /// Prints text for people; with --json, to standard error.
  void say(const std::string& text) {
    if (keeper_.json) return terminal_.note(text);
    terminal_.print(text);
    terminal_.flush();
  }

  /// Error: as from assay::run_point(), from the store, or if one of the servers has ended.
  Result<LoadReport> run_point(const LoadRequest& request, const LoadPoint& point,
                               const std::string& label) {
    if (!terminal_.interactive()) {
      terminal_.note(fmt::format("{}, {} requests\n", label, point.requests));
    }
    LoadReport report;
    {
      LoadProgress progress(terminal_, label);
      const auto stop = [&] {
        return interrupt_requested() || (servers_ != nullptr && !servers_->check().ok());
      };
      report = TRY(assay::run_point(request.settings, point, stop,
                                    [&](const LoadState& state) { progress.show(state); }));
    }
    if (servers_ != nullptr) TRY(servers_->check());
    interrupted_ = report.interrupted;
    if (recorder_ != nullptr) recorder_->add(report, label);
    passes_.push_back(load_record(request, report));
    if (telemetry_ != nullptr) add_telemetry(passes_.back(), *telemetry_, report);
    TRY(keep_for_vllm(request, report, keeper_));
    say(std::string(request.simulated ? of_a_model : "") + report_text(report, width(), style()) +
        telemetry_text(passes_.back()) + cost_text(passes_.back(), keeper_.price));
    simulated_ = request.simulated;
    results_.push_back(report.result);
    return report;
  }

  /// Stores what was run since the last call as one record. Error: from the store.
  Status end_passes() {
    if (passes_.empty()) return {};
    Record record = record_of_passes(passes_);
    if (passes_.size() > 1) say(passes_text(record, passes_.size()));
    passes_.clear();
    return keep(record, keeper_, terminal_);
  }

  void sum_up() {
    if (results_.size() > 1) say("\n" + sweep_text(results_, keeper_.price, width(), style()));
    if (simulated_) say(model_footnote);
    if (!keeper_.store) return;
    terminal_.note(fmt::format("stored in {} as run {}\n", keeper_.folder, keeper_.run));
  }

  bool interrupted() const { return interrupted_; }
  const std::vector<ServingResult>& results() const { return results_; }
  Style style() const { return keeper_.json ? terminal_.error_style() : terminal_.out_style(); }

 private:
  std::size_t width() const {
    return static_cast<std::size_t>(keeper_.json ? terminal_.error_width() : terminal_.width());
  }

  const SpawnedServers* servers_;
  const std::unique_ptr<TelemetryRecorder> telemetry_;
  Recorder* const recorder_;
  Keeper& keeper_;
  Terminal& terminal_;
  std::vector<Record> passes_;  ///< over the present point
  std::vector<ServingResult> results_;
  bool interrupted_ = false;
  bool simulated_ = false;  ///< LoadRequest::simulated
};

/// Runs all passes over all points. Error: as from Session::run_point().
Result<int> load_points(const LoadRequest& request, Session& session) {
  LoadRequest asked = request;
  std::size_t number = 0;
  for (const LoadPoint& point : request.points) {
    ++number;
    for (std::size_t pass = 0; pass < request.passes && !session.interrupted(); ++pass) {
      asked.settings.use_seed(seed_of_load(request.settings.prompts.seed, point, pass, request.pair,
                                           request.prompt_set));
      const std::string label =
          request.passes > 1 ? fmt::format(", pass {}/{}", pass + 1, request.passes) : "";
      const auto ran = session.run_point(
          asked, point,
          fmt::format("[{}/{}{}] {}", number, request.points.size(), label, text_of(point)));
      if (!ran.ok()) {
        TRY(session.end_passes());  // keeps those before it
        return ran.error();
      }
    }
    TRY(session.end_passes());
  }
  session.sum_up();
  if (session.interrupted()) return exit_interrupted;
  const auto& results = session.results();
  const auto valid = std::count_if(results.begin(), results.end(), [](const ServingResult& result) {
    return result.verdict.valid();
  });
  if (valid == 0) return exit_verification;
  return valid == std::ssize(results) ? exit_ok : exit_cell_error;
}

/// Searches for the highest rate. Error: as from Session::run_point().
Result<int> load_search(const FindRate& find, const LoadRequest& request, const Keeper& keeper,
                        Session& session, Terminal& terminal) {
  const auto measure = [&](const LoadRequest& asked, const LoadPoint& point,
                           const std::string& label) -> Result<LoadReport> {
    LoadReport report = TRY(session.run_point(asked, point, label));
    TRY(session.end_passes());
    return report;
  };
  const FoundRate found =
      TRY(find_rate(find, request, measure, [&](const std::string& text) { session.say(text); }));
  const SearchResult& result = found.result;
  session.sum_up();
  session.say("\n" + std::string(request.simulated ? of_a_model : "") +
              session.style().bold(found_text(find, result)) + "\n");
  if (keeper.json) {
    terminal.print(json_line(to_json(find, found)) + "\n");
    terminal.flush();
  }
  if (session.interrupted()) return exit_interrupted;
  const bool unfinished =
      result.end == SearchResult::End::stopped || result.end == SearchResult::End::noisy;
  if (unfinished) return exit_inconclusive;
  return result.passed ? exit_ok : exit_cell_error;
}

/// Whether there is something to load: servers that answer, or that could be started.
int check_servers(const std::optional<SpawnPlan>& plan, LoadRequest& request, Terminal& terminal) {
  const Status checked = plan ? check_spawn(*plan) : find_servers(request);
  if (!checked.ok()) return report(terminal, checked.error());
  terminal.note(plan ? "the servers' program is here; nothing was started\n"
                     : "the servers answer; no load was sent\n");
  return exit_ok;
}

int run(const Arguments& arguments, Terminal& terminal) {
  if (arguments.has("--calibrate")) return calibrate_load(arguments, terminal);
  auto request = read_load_request(arguments);
  if (!request.ok()) return report(terminal, request.error());
  const auto find = read_find_rate(arguments, *request);
  if (!find.ok()) return report(terminal, find.error());
  auto plan = read_spawn(arguments);
  if (!plan.ok()) return report(terminal, plan.error());
  if (request->urls.empty() && !*plan) {
    return report(terminal,
                  {ErrorKind::usage,
                   "no server is given: use --url http://127.0.0.1:8000, or --spawn \"vllm serve "
                   "MODEL --port {port}\" to start one"});
  }
  const auto price = given_price(arguments);
  if (!price.ok()) return report(terminal, price.error());
  if (arguments.has("--check")) return check_servers(*plan, *request, terminal);
  Keeper keeper;
  keeper.price = *price;
  keeper.vllm_path = arguments.get("--save-vllm");
  if (!keeper.vllm_path.empty()) {
    const Status writable = check_writable(keeper.vllm_path, {request->asked_prompts.file});
    if (!writable.ok()) return report(terminal, about("--save-vllm", writable.error()));
  }
  std::optional<TraceFileKind> trace;
  if (arguments.has("--trace")) {
    const auto kind = trace_file_kind(arguments.get("--trace"));
    if (!kind.ok()) return report(terminal, about("--trace", kind.error()));
    const Status writable =
        check_writable(arguments.get("--trace"), {request->asked_prompts.file, keeper.vllm_path});
    if (!writable.ok()) return report(terminal, about("--trace", writable.error()));
    trace = *kind;
  }
  keeper.folder = arguments.get("--out", default_folder);
  keeper.run = new_run_id();
  std::unique_ptr<SpawnedServers> servers;
  if (*plan) {
    catch_interrupts();
    (**plan).logs = server_logs(keeper.folder, keeper.run);
    terminal.note(fmt::format("starting {} server{}; logs: {}-*.log\n", (**plan).servers,
                              (**plan).servers == 1 ? "" : "s", (**plan).logs.string()));
    auto started = spawn_servers(**plan, terminal);
    if (!started.ok()) return report(terminal, started.error());
    servers = std::move(*started);
    request->urls = servers->urls();
    request->notes = spawn_notes(**plan);
    request->notes.emplace_back("server_logs", fmt::format("{}-*.log", (**plan).logs.string()));
  }
  const Status found = find_servers(*request);
  if (!found.ok()) return report(terminal, found.error());
  auto telemetry = record_beside_load(arguments, request->urls);
  if (!telemetry.ok()) return report(terminal, telemetry.error());
  keeper.json = arguments.has("--json") || keeper.folder == pipe;
  keeper.vllm_details = arguments.has("--save-detailed");
  const auto backends = make_backends();
  const auto fingerprint =
      keep_fingerprint(keeper.folder, take_fingerprint(facts_of(backends)), keeper.store, terminal);
  if (!fingerprint.ok()) {
    terminal.complain(about("--out", fingerprint.error()).message);
    return exit_io;
  }
  keeper.fingerprint = *fingerprint;
  catch_interrupts();
  Recorder recorder(unix_time(std::chrono::steady_clock::now()));
  Session session(servers.get(), std::move(*telemetry), trace ? &recorder : nullptr, keeper,
                  terminal);
  const auto status = *find ? load_search(**find, *request, keeper, session, terminal)
                            : load_points(*request, session);
  if (!status.ok()) return report(terminal, status.error());
  if (trace) {
    const std::string path = arguments.get("--trace");
    const auto text = std::move(recorder).file(*request, *trace);
    const Status written = text.ok() ? write_file(path, *text) : Status(text.error());
    if (!written.ok()) return report(terminal, about("--trace", written.error()));
    terminal.note(fmt::format(
        "wrote the requests and the servers' steps to {}; `{} trace read {}` reads it\n", path,
        own_command(), path));
  }
  return *status;
}

std::vector<Option> all_options() {
  std::vector<Option> options = load_options();
  options.insert(
      options.end(),
      {{"--calibrate", "",
        "find out how much load this machine can generate, or test --max-concurrency streams "
        "for --duration; needs no server",
        ""},
       {"--out", "DIR", "folder of the store, default ./assay-results; or - for no store", "folder",
        false, "--output"},
       {"--check", "",
        "find out whether the servers answer, or whether those of --spawn could be started, and "
        "send no load",
        ""},
       {"--telemetry", "RATE",
        "record clocks, power and temperature of this machine RATE times per second, or off; "
        "default 10 if all servers are on this machine",
        "off 1 10"},
       {"--trace", "FILE",
        "write each request, its tokens, and the steps of servers that tell them (assay serve) as "
        "a "
        "timeline: .pftrace or .json, also with .gz",
        "file"},
       price_option(),
       {"--save-vllm", "FILE", "write results in the JSON of vllm bench serve, one per line", ""},
       {"--save-detailed", "", "with --save-vllm: include the times of every request", ""}});
  return options;
}

const Command command = {
    .name = "load",
    .summary = "Load LLM servers: throughput, latencies, and whether to trust them",
    .group = CommandGroup::serve,
    .positionals = "",
    .least_positionals = 0,
    .most_positionals = 0,
    .details =
        R"(Sends requests to OpenAI-compatible servers (vLLM, SGLang, llama.cpp, TGI) and times every
token. An open loop (--request-rate) sends on a fixed schedule, however slow the server; a
closed loop (--max-concurrency) keeps that many requests in flight. Several values make a sweep.
Prompts and arrivals depend only on --seed, the point, its pass and, within a campaign, the number
of the pair (ASSAY_PAIR), so that compared environments get the same load, and no load repeats the
prompts of another. Random prompts are token ids, so their length is exact without a tokenizer.

TTFT, TPOT, ITL and E2EL are defined as in vLLM. TTFT and E2EL are also given from the scheduled
time, so that a cap on concurrency hides no waiting. A run is void if the client was the limit,
or if too many replies are empty or short; if requests were sent late, only what counts from the
sending is. A reply with more tokens than asked for, or than its bytes can hold, is malformed. The
key in OPENAI_API_KEY is sent to the servers.

--spawn starts the servers without a shell, waits until they answer, and always stops them at
the end. Several servers get one GPU each. Their output is kept in DIR/servers/. Results of
assay serve-sim are marked as a model's wherever they are shown, and never compared with real ones.

  assay load --url http://127.0.0.1:8000 --max-concurrency 4,8,16,32,64,128,256 --requests 10x
  assay load --url http://127.0.0.1:8000 --request-rate 2,4,8,16,32 --dataset sharegpt --file f.json
  assay load --url http://127.0.0.1:8000 --find-rate p99_ttft:200ms,mean_tpot:50ms
  assay load --url http://a:8000,http://b:8000 --request-rate 16 --goodput ttft:200ms,tpot:50ms
  assay load --spawn "vllm serve MODEL --port {port}" --servers 8 --request-rate 2,4,8
  assay load --url http://127.0.0.1:8000 --max-concurrency 16 --requests 64 --trace load.pftrace

)",
    .options = all_options(),
    .run = &run,
};
const CommandRegistry::Add registered{&command};

}  // namespace
}  // namespace assay::cli::load_command

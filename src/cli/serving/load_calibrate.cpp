#include "cli/serving/load_calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "cli/cli.h"
#include "cli/interrupt.h"
#include "cli/serving/load_output.h"
#include "cli/serving/load_request.h"
#include "cli/serving/load_servers.h"
#include "cli/table.h"
#include "core/json.h"
#include "core/own_binary.h"
#include "core/units.h"
#include "machine/system/affinity.h"
#include "serving/results/timing_error.h"
#include "serving/server_facts.h"

namespace assay::cli {
namespace {

constexpr double ttft = 0.2, itl = 0.02;  // the simulated server's times: 50 tokens/s per stream
constexpr std::uint64_t reply_tokens = 500;
constexpr double reply_seconds = ttft + itl * (reply_tokens - 1);
constexpr std::size_t first_streams = 125, last_streams = 16000;

/// Errors up to these are acceptable when measuring a real server, whose tokens come every 5 ms or
/// more.
constexpr double most_lag = 1e-3, most_ttft_error = 5e-3, most_itl_error = 2e-3;
/// A loop that lags more reads several tokens of a stream at once and gives them the same time.
constexpr double most_loop_lag = 5e-3;

/// Least share of the requested tokens; a simulator that cannot keep up makes the load easier.
constexpr double least_load = 0.95;

struct Step {
  std::size_t streams = 0;
  double tokens_per_second = 0, send_lag = 0, loop_lag = 0, cpu_share = 0;
  double load = 0;                   ///< tokens received over tokens due during the replies
  TimingError error;                 ///< the client's
  TimingError planned;               ///< including the simulator's own lateness
  std::optional<double> server_lag;  ///< p99 of how late the simulator itself wrote tokens

  bool loaded() const { return load >= least_load; }
  bool timed() const {
    return send_lag <= most_lag && loop_lag <= most_loop_lag && error.ttft_p99 <= most_ttft_error &&
           error.itl_p99 <= most_itl_error;
  }
  bool sound() const { return loaded() && timed(); }
};

/// The number of simulated servers: up to four, one for every four CPUs.
int simulators() {
  return std::clamp(static_cast<int>(affinity_cpus().size()) / 4, 1, 4);
}

/// The lag of the latest simulator.
std::optional<double> server_lag(const LoadRequest& request) {
  const auto scrape = scrape_all(request.settings.targets, "");
  if (!scrape) return std::nullopt;
  std::optional<double> lag;
  for (const PrometheusSample& sample : scrape->samples()) {
    const std::string* quantile = sample.label("quantile");
    if (sample.name == "assay_sim_write_lag_seconds" && quantile != nullptr &&
        *quantile == "0.99") {
      lag = std::max(lag.value_or(0), sample.value);
    }
  }
  return lag;
}

/// The share of the due tokens that came during the replies: 1 if the simulator keeps to its times.
double load_of(const std::vector<RequestLog>& logs) {
  double came = 0, due = 0;
  for (const RequestLog& log : logs) {
    if (!log.succeeded()) continue;
    came += static_cast<double>(log.gaps.size()) + 1;
    due += 1 + (log.last - log.sent - ttft) / itl;
  }
  return due > 0 ? came / due : 0;
}

/// Starts new servers for every step, so that their lag is that of the step. Requests are sent for
/// `seconds`.
Result<Step> measure(std::size_t streams, double seconds, Terminal& terminal) {
  SpawnPlan plan;
  plan.words = {TRY(own_binary()), "serve-sim",
                "--port",          "{port}",
                "--ttft",          fmt::format("{}ms", ttft * 1e3),
                "--itl",           fmt::format("{}ms", itl * 1e3)};
  plan.servers = simulators();
  plan.timeout_seconds = 10;
  plan.logs = server_logs("-", "calibration");
  const auto servers = TRY(spawn_servers(plan, terminal));
  LoadRequest request;
  request.urls = servers->urls();
  request.settings.plan.silence_seconds = 30;
  // The ramp is as long as a reply, so that requests are evenly spread afterwards, not in waves.
  request.settings.plan.ramp_seconds = std::min(reply_seconds, seconds / 2);
  request.settings.plan.send_seconds = seconds;
  request.settings.plan.request.ignore_eos = true;
  request.settings.plan.request.extra["sim_stamps"] = true;
  request.settings.prompts.input_tokens = 32;
  request.settings.prompts.output_tokens = reply_tokens;
  TRY(find_servers(request));
  const double rounds = std::ceil(seconds / reply_seconds) + 1;
  const LoadPoint point{std::numeric_limits<double>::infinity(), streams,
                        static_cast<std::size_t>(rounds) * streams};
  LoadProgress progress(terminal, fmt::format("{} streams", streams));
  const LoadReport report = TRY(run_point(request.settings, point, &interrupt_requested,
                                          [&](const LoadState& state) { progress.show(state); }));
  if (report.interrupted) return Error{ErrorKind::interrupted, "stopped"};
  const ServingResult& result = report.result;
  Step step;
  step.streams = streams;
  step.tokens_per_second =
      result.steady ? result.steady->output_throughput : result.output_throughput;
  step.send_lag = result.send_lag.p99;
  step.loop_lag = result.client.loop_lag_p99;
  step.cpu_share = result.client.cpu_share;
  const auto error = client_error(report.logs);
  if (!error) {
    return Error{ErrorKind::failed,
                 "no reply succeeded, or replies lack the times at which the "
                 "simulated server sent its tokens"};
  }
  step.load = load_of(report.logs);
  step.error = *error;
  step.planned = planned_error(report.logs, ttft, itl);
  step.server_lag = server_lag(request);
  return step;
}

/// The steps to measure.
struct CeilingSearch {
  std::vector<std::size_t> streams;
  double seconds = 20;
  bool to_the_limit = true;  ///< stop at the first step that is not sound
};

Result<CeilingSearch> read_search(const Arguments& arguments) {
  CeilingSearch search;
  TRY(read_seconds(arguments, "--duration", search.seconds));
  search.to_the_limit = !arguments.has("--max-concurrency");
  if (!search.to_the_limit) {
    search.streams = TRY(parse_concurrencies(arguments.get("--max-concurrency")));
  }
  for (std::size_t streams = first_streams; search.to_the_limit && streams <= last_streams;
       streams *= 2) {
    search.streams.push_back(streams);
  }
  return search;
}

std::string steps_text(const std::vector<Step>& steps, std::size_t width, const Style& style) {
  Table table({{"streams", Column::Align::right},
               {"tokens/s", Column::Align::right},
               {"send lag p99", Column::Align::right},
               {"TTFT error p99", Column::Align::right},
               {"ITL error p99", Column::Align::right},
               {"with the simulator's", Column::Align::right, 1},
               {"loop lag p99", Column::Align::right, 2},
               {"CPU", Column::Align::right, 3},
               {""}});
  for (const Step& step : steps) {
    table.add({fmt::format("{}", step.streams), format_significant(step.tokens_per_second),
               format_seconds(step.send_lag), format_seconds(step.error.ttft_p99),
               format_seconds(step.error.itl_p99), format_seconds(step.planned.itl_p99),
               format_seconds(step.loop_lag), fmt::format("{:.0f}%", step.cpu_share * 100),
               !step.timed()    ? style.yellow("too late")
               : !step.loaded() ? style.yellow("simulator too slow")
                                : ""});
  }
  return table.render(width, style);
}

Json json_of(const std::vector<Step>& steps, std::size_t ceiling) {
  Json json = {{"streams", ceiling}, {"simulators", simulators()}, {"steps", Json::array()}};
  for (const Step& step : steps) {
    json["steps"].push_back({{"streams", step.streams},
                             {"tokens_per_second", step.tokens_per_second},
                             {"send_lag_p99", step.send_lag},
                             {"ttft_error_p99", step.error.ttft_p99},
                             {"itl_error_p99", step.error.itl_p99},
                             {"planned_ttft_error_p99", step.planned.ttft_p99},
                             {"planned_itl_error_p99", step.planned.itl_p99},
                             {"loop_lag_p99", step.loop_lag},
                             {"cpu_share", step.cpu_share},
                             {"load", step.load},
                             {"sound", step.sound()}});
    if (step.server_lag) json["steps"].back()["simulator_lag_p99"] = *step.server_lag;
  }
  return json;
}

}  // namespace

int calibrate_load(const Arguments& arguments, Terminal& terminal) {
  const auto search = read_search(arguments);
  if (!search.ok()) return report(terminal, search.error());
  catch_interrupts();
  std::vector<Step> steps;
  std::size_t ceiling = 0;
  for (const std::size_t streams : search->streams) {
    const auto step = measure(streams, search->seconds, terminal);
    if (!step.ok()) {
      if (steps.empty() || step.error().kind != ErrorKind::exhausted) {
        return report(terminal, step.error());
      }
      terminal.note(step.error().message + "\n");
      break;
    }
    steps.push_back(*step);
    if (step->sound()) ceiling = std::max(ceiling, streams);
    if (!step->sound() && search->to_the_limit) break;
  }
  const Style style = terminal.out_style();
  if (arguments.has("--json")) {
    terminal.print(json_line(json_of(steps, ceiling)) + "\n");
    return exit_ok;
  }
  terminal.print(steps_text(steps, static_cast<std::size_t>(terminal.width()), style));
  terminal.print(fmt::format(
      "While running {}, this machine loads {} streams of 50 tokens/s each and times them\nwithin "
      "{:.0f} ms (TTFT) and {:.0f} ms (ITL) of when the server sent them{}.\n",
      simulators() == 1 ? "the simulated server"
                        : fmt::format("{} simulated servers", simulators()),
      ceiling, most_ttft_error * 1e3, most_itl_error * 1e3,
      steps.back().timed() && !steps.back().loaded() ? "; the server could not send more" : ""));
  return exit_ok;
}

}  // namespace assay::cli

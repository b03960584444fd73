#include "cli/serving/load_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "cli/progress.h"
#include "cli/results_store.h"
#include "cli/table.h"
#include "core/units.h"
#include "machine/system/affinity.h"
#include "machine/telemetry/source.h"
#include "measure/sampling/runner.h"
#include "serving/results/serving_record.h"
#include "serving/workload/datasets.h"

namespace assay::cli {
namespace {

// ---- The record ----

/// The axes of the record that say what was sent.
std::vector<std::pair<std::string, std::string>> workload_axes(const LoadRequest& request) {
  const PromptSettings& prompts = request.asked_prompts;
  std::vector<std::pair<std::string, std::string>> axes = {
      {"dataset", std::string(name_of(prompts.dataset))}};
  const bool made = prompts.file.empty();
  if (made) axes.emplace_back("input", fmt::format("{}", prompts.input_tokens));
  if (made || prompts.output_tokens) {
    axes.emplace_back("output",
                      fmt::format("{}", prompts.output_tokens.value_or(default_output_tokens)));
  }
  if (!made) {
    axes.emplace_back("file", std::filesystem::path(prompts.file).filename().string());
  }
  if (prompts.dataset == Dataset::prefix_repetition) {
    axes.emplace_back("prefixes", fmt::format("{}", prompts.prefixes));
  }
  if (prompts.dataset == Dataset::multi_turn) {
    axes.emplace_back("turns", fmt::format("{}", prompts.turns));
    axes.emplace_back("think", fmt::format("{}", prompts.think_seconds));
  }
  if (prompts.input_spread > 0)
    axes.emplace_back("spread", fmt::format("{}", prompts.input_spread));
  if (prompts.prefix_tokens > 0)
    axes.emplace_back("prefix", fmt::format("{}", prompts.prefix_tokens));
  // A different API or schedule is different work.
  const LoadSettings& settings = request.settings;
  if (settings.plan.request.api != Api::completions) {
    axes.emplace_back("api", name_of(settings.plan.request.api));
  }
  if (!settings.plan.request.stream) axes.emplace_back("stream", "off");
  if (settings.ramp) {
    axes.emplace_back("ramp_rate",
                      fmt::format("{}:{}:{}", settings.ramp->first, settings.ramp->last,
                                  settings.ramp->exponential ? "exponential" : "linear"));
  }
  if (settings.recorded_speed) {
    axes.emplace_back("recorded", fmt::format("{}", *settings.recorded_speed));
  }
  return axes;
}

constexpr std::string_view energy_per_token = "joules_per_output_token";

bool is_here(const Url& url) {
  return url.host == "localhost" || url.host == "::1" || url.host.starts_with("127.");
}

/// The energy of all accelerators; empty if that of any is unknown.
std::optional<double> energy_of(const TelemetrySummary& summary) {
  if (summary.gpus.empty()) return std::nullopt;
  double joules = 0;
  for (const auto& [name, gpu] : summary.gpus) {
    if (!gpu.energy_joules) return std::nullopt;
    joules += *gpu.energy_joules;
  }
  return joules;
}

// ---- The text ----

constexpr auto redraw = std::chrono::milliseconds(200);

std::string rate_text(double rate, std::string_view unit) {
  return fmt::format("{} {}", format_significant(rate), unit);
}

std::string load_text(const OfferedLoad& load) {
  std::string text = std::isinf(load.request_rate) ? "" : rate_text(load.request_rate, "req/s");
  if (load.max_concurrency) {
    text += fmt::format("{}{} in flight", text.empty() ? "" : ", at most ", *load.max_concurrency);
  }
  return text.empty() ? "all at once" : text;
}

std::string with_interval(double value, const Interval& interval) {
  return fmt::format("{} [{}, {}]", format_seconds(value), format_seconds(interval.low),
                     format_seconds(interval.high));
}

void add_latency(Table& table, const char* name, const Latency& latency) {
  if (latency.n == 0) return;
  const Percentile* p99 = latency.percentile(99);
  table.add({name,
             latency.mean95 ? with_interval(latency.mean, *latency.mean95)
                            : format_seconds(latency.mean) + " (drifts)",
             format_seconds(latency.median),
             p99 == nullptr ? "-" : with_interval(p99->value, p99->interval95),
             format_seconds(latency.maximum)});
}

std::string latencies_text(const ServingResult& result, std::size_t width, const Style& style) {
  Table table({{""},
               {"mean [95%]", Column::Align::right},
               {"median", Column::Align::right, 3},
               {"p99 [95%]", Column::Align::right, 4},
               {"max", Column::Align::right, 1}});
  add_latency(table, "TTFT", result.ttft);
  if (result.itl.n > 0) add_latency(table, "TPOT", result.tpot);  // as in the record
  add_latency(table, "ITL", result.itl);
  if (result.itl_per_token) add_latency(table, "ITL per token", *result.itl_per_token);
  add_latency(table, "E2EL", result.e2el);
  add_latency(table, "TTFT from schedule", result.ttft_scheduled);
  add_latency(table, "E2EL from schedule", result.e2el_scheduled);
  return table.empty() ? "" : table.render(width, style);
}

std::string rates_text(const ServingResult& result) {
  std::string text = fmt::format("  {} of {} requests in {}: {}, {}, {}\n", result.counts.completed,
                                 result.counts.requests, format_seconds(result.duration),
                                 rate_text(result.request_throughput, "req/s"),
                                 rate_text(result.output_throughput, "tokens/s out"),
                                 rate_text(result.total_throughput, "tokens/s in all"));
  if (result.goodput) text += fmt::format("  good {}\n", rate_text(*result.goodput, "req/s"));
  if (result.steady) {
    text += fmt::format("  steady from {:.1f} s to {:.1f} s: {}, {}\n", result.steady->begin,
                        result.steady->end, rate_text(result.steady->request_throughput, "req/s"),
                        rate_text(result.steady->output_throughput, "tokens/s out"));
  } else {
    text += fmt::format("  no steady state: {}\n", result.no_steady);
  }
  return text;
}

std::string checks_text(const ServingResult& result) {
  std::string text = fmt::format(
      "  longest stall: median {}, p99 {}; at most {} in flight\n"
      "  client: send lag p99 {}, loop lag p99 {}, CPU {:.0f}%",
      format_seconds(result.longest_stall.median), format_seconds(result.longest_stall.p99),
      result.most_concurrent, format_seconds(result.send_lag.p99),
      format_seconds(result.client.loop_lag_p99), result.client.cpu_share * 100);
  if (result.little) {
    text += fmt::format("; Little's law within {:.1f}%", std::abs(result.little->difference) * 100);
  }
  return text + "\n";
}

std::string targets_text(const ServingResult& result, std::size_t width, const Style& style) {
  if (result.targets.size() < 2) return {};
  Table table({{"server"},
               {"requests", Column::Align::right},
               {"completed", Column::Align::right},
               {"mean TTFT", Column::Align::right},
               {"mean E2EL", Column::Align::right}});
  for (const TargetResult& target : result.targets) {
    table.add({fmt::format("{}", target.target), fmt::format("{}", target.requests),
               fmt::format("{}", target.completed), format_seconds(target.mean_ttft),
               format_seconds(target.mean_e2el)});
  }
  return table.render(width, style) +
         fmt::format("  the busiest server got {:.2f} times its share\n", result.imbalance);
}

std::string server_text(const std::optional<ServerMetrics>& server) {
  if (!server) return {};
  std::string text;
  if (server->ttft && server->ttft->count > 0) {
    text += fmt::format("mean TTFT {}", format_seconds(server->ttft->mean()));
  }
  const auto add = [&](std::string_view name, const std::string& value) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, value);
  };
  if (server->queue_time) add("queue time", format_seconds(server->queue_time->mean()));
  if (server->preemptions) add("preemptions", fmt::format("{:.0f}", *server->preemptions));
  if (server->prefix_cache_hit_rate) {
    add("prefix cache hits", fmt::format("{:.1f}%", *server->prefix_cache_hit_rate * 100));
  }
  if (text.empty()) return {};
  return fmt::format("  reported by the server, in {}'s metrics: {}\n", server->server, text);
}

std::string verdict_text(const ServingResult& result, const Style& style) {
  std::string text;
  for (const std::string& reason : result.verdict.void_reasons()) {
    text += "  " + style.red("VOID") + ": " + reason + "\n";
  }
  for (const std::string& reason : result.verdict.reasons_in_part()) {
    text += "  " + style.red("VOID in part") + ": " + reason + "\n";
  }
  for (const std::string& warning : result.verdict.warnings) {
    text += "  " + style.yellow("note") + ": " + warning + "\n";
  }
  return text;
}

}  // namespace

Record load_record(const LoadRequest& request, const LoadReport& report) {
  Record record = serving_record(report.result, workload_axes(request));
  record.time = utc_now();
  record.device.backend = foreign_backend;
  record.device.name = request.settings.plan.request.model;
  record.device.emulated = request.simulated;
  for (std::size_t i = 0; i < request.urls.size(); ++i) {  // names of notes must be distinct
    record.notes.emplace_back(request.urls.size() == 1 ? "url" : fmt::format("url {}", i),
                              text_of(request.urls[i]));
  }
  const RequestOptions& options = request.settings.plan.request;
  if (request.simulated) record.notes.emplace_back("simulated", "the server is assay serve-sim");
  record.notes.emplace_back("api", name_of(options.api));
  record.notes.emplace_back("seed", fmt::format("{}", request.asked_prompts.seed));
  if (request.pair > 0) record.notes.emplace_back("pair", fmt::format("{}", request.pair));
  // Derived from these and the load; it tells whether two loads had the same prompts.
  record.notes.emplace_back("prompts", fmt::format("{:016x}", request.settings.prompts.seed));
  record.notes.emplace_back("balance", name_of(request.settings.plan.balance));
  record.notes.insert(record.notes.end(), request.notes.begin(), request.notes.end());
  if (report.server) add_server_metrics(record, *report.server);
  if (report.interrupted) {
    record.status = RecordStatus::interrupted;
    record.reason = "stopped before all replies had ended";
  }
  return record;
}

Result<std::unique_ptr<TelemetryRecorder>> record_beside_load(const Arguments& arguments,
                                                              const std::vector<Url>& urls) {
  const bool here = std::all_of(urls.begin(), urls.end(), is_here);
  const double interval = TRY(telemetry_interval(arguments, here ? "10" : "off"));
  if (interval <= 0) return std::unique_ptr<TelemetryRecorder>();
  TelemetryRequest request;
  request.cpus = affinity_cpus();
  return std::make_unique<TelemetryRecorder>(open_telemetry_sources(std::move(request)), interval);
}

void add_telemetry(Record& record, TelemetryRecorder& recorder, const LoadReport& report) {
  using Clock = TelemetryRecorder::Clock;
  const std::chrono::duration<double> length(report.result.duration);
  Telemetry telemetry;
  telemetry.trace = recorder.slice(
      report.begin, report.begin + std::chrono::duration_cast<Clock::duration>(length));
  telemetry.summary = summarize_telemetry(telemetry.trace, WorkDone{});
  const auto joules = energy_of(telemetry.summary);
  const auto output_tokens = static_cast<double>(report.result.counts.output_tokens);
  if (joules && output_tokens > 0) {
    record.metrics.push_back({std::string(energy_per_token), *joules / output_tokens, "J",
                              Better::lower, "", std::nullopt});
    if (!report.result.verdict.tokens_hold()) {
      record.metrics.back().better = Better::neither;
      record.metrics.back().is_void = true;
    }
  }
  record.telemetry = std::move(telemetry);
}

std::string telemetry_text(const Record& record) {
  if (!record.telemetry) return {};
  std::string text;
  for (const auto& [name, gpu] : record.telemetry->summary.gpus) {
    std::vector<std::string> parts;
    if (gpu.clock_mean_hz) parts.push_back(format_frequency(*gpu.clock_mean_hz));
    if (gpu.power_mean_watts) parts.push_back(fmt::format("{:.0f} W", *gpu.power_mean_watts));
    if (gpu.temperature_max_celsius) {
      parts.push_back(fmt::format("at most {:.0f} °C", *gpu.temperature_max_celsius));
    }
    if (gpu.throttled_share.value_or(0) > 0) {
      parts.push_back(
          fmt::format("clock capped {} of the time", format_share(*gpu.throttled_share)));
    }
    if (!parts.empty()) text += fmt::format("  {}: {}\n", name, fmt::join(parts, ", "));
  }
  for (const Metric& metric : record.metrics) {
    if (metric.name != energy_per_token || metric.is_void) continue;
    text += fmt::format("  energy of the GPUs: {} J per output token\n",
                        format_significant(metric.value));
  }
  return text;
}

LoadProgress::~LoadProgress() {
  if (drawn_) terminal_.rewrite_line("");
}

void LoadProgress::show(const LoadState& state) {
  if (!terminal_.interactive()) return;
  const auto now = std::chrono::steady_clock::now();
  if (now - shown_ < redraw) return;
  const double seconds = state.seconds - before_.seconds;
  const auto per_second = [&](std::uint64_t count, std::uint64_t before) {
    return seconds > 0 ? static_cast<double>(count - std::min(count, before)) / seconds : 0;
  };
  Progress progress;
  progress.done = state.ended;
  progress.total = state.total;
  progress.elapsed_seconds = state.seconds;
  // The most important parts come first, because a narrow terminal cuts off the end.
  const std::string line = fmt::format(
      "{}  {}/{}  {} left{}  {}  {}{}  {} in flight", label_, state.ended, state.total,
      format_clock(seconds_left(progress)),
      state.failed > 0 ? fmt::format("  {} failed", state.failed) : "",
      rate_text(per_second(state.ended, before_.ended), "req/s"),
      rate_text(per_second(state.events, before_.events), "tokens/s"),
      state.last_ttft < 0 ? "" : "  TTFT " + format_seconds(state.last_ttft), state.in_flight);
  terminal_.rewrite_line(shorten(line, static_cast<std::size_t>(terminal_.error_width()) - 1));
  drawn_ = true;
  shown_ = now;
  before_ = state;
}

std::string text_of(const LoadPoint& point) {
  OfferedLoad load;
  load.request_rate = point.request_rate;
  if (point.max_concurrency > 0) load.max_concurrency = point.max_concurrency;
  return load_text(load);
}

std::string report_text(const LoadReport& report, std::size_t width, const Style& style) {
  const ServingResult& result = report.result;
  return fmt::format("{}\n", style.bold(load_text(result.load))) + rates_text(result) +
         latencies_text(result, width, style) + checks_text(result) + server_text(report.server) +
         targets_text(result, width, style) + verdict_text(result, style);
}

std::string passes_text(const Record& record, std::size_t passes) {
  std::string text;
  for (const Metric& metric : record.metrics) {
    const bool shown = metric.name == "output_throughput" || metric.name == "mean_ttft" ||
                       metric.name == "p99_ttft" || metric.name == "mean_tpot";
    if (!shown) continue;
    const auto number = [&](double value) {
      return metric.unit == "s" ? format_seconds(value) : format_significant(value);
    };
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", metric.name, number(metric.value));
    if (metric.interval95) {
      text +=
          fmt::format(" [{}, {}]", number(metric.interval95->low), number(metric.interval95->high));
    }
  }
  return fmt::format("  over {} passes: {}\n", passes, text);
}

std::string cost_text(const Record& record, const std::optional<Price>& price) {
  if (!price) return {};
  std::string text;
  for (const Metric& cost : costs_of(record, *price)) {
    text += fmt::format("  cost: {} per million output tokens\n", format_in(cost.value, cost.unit));
  }
  return text;
}

std::string sweep_text(std::span<const ServingResult> results, const std::optional<Price>& price,
                       std::size_t width, const Style& style) {
  Table table({{"load"},
               {"done", Column::Align::right, 2},
               {"req/s", Column::Align::right},
               {"tokens/s", Column::Align::right},
               {"$/M tokens out", Column::Align::right, 8},
               {"TTFT mean", Column::Align::right, 5},
               {"TTFT p99", Column::Align::right, 4},
               {"TPOT mean", Column::Align::right, 6},
               {"E2EL mean", Column::Align::right, 7},
               {"E2EL p99", Column::Align::right, 3},
               {"", Column::Align::left, 1}});
  const auto mean = [](const Latency& latency) {
    return latency.n == 0 ? std::string("-") : format_seconds(latency.mean);
  };
  const auto p99 = [](const Latency& latency) {
    const Percentile* percentile = latency.n == 0 ? nullptr : latency.percentile(99);
    return percentile == nullptr ? std::string("-") : format_seconds(percentile->value);
  };
  for (const ServingResult& result : results) {
    table.add({load_text(result.load), fmt::format("{}", result.counts.completed),
               format_significant(result.request_throughput),
               format_significant(result.output_throughput),
               price && result.verdict.valid() && result.verdict.tokens_hold() &&
                       result.output_throughput > 0
                   ? format_significant(cost_per_million_tokens(price->per_hour, price->devices,
                                                                result.output_throughput))
                   : "",
               mean(result.ttft), p99(result.ttft), mean(result.tpot), mean(result.e2el),
               p99(result.e2el),
               !result.verdict.valid()                     ? style.red("void")
               : !result.verdict.reasons_in_part().empty() ? style.red("void in part")
               : result.saturation.saturated               ? "saturated"
                                                           : ""});
  }
  return table.render(width, style);
}

}  // namespace assay::cli

#include "cli/load_telemetry.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "cli/results_store.h"
#include "core/units.h"
#include "machine/system/affinity.h"
#include "machine/telemetry/source.h"

namespace assay::cli {
namespace {

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

}  // namespace

Result<std::unique_ptr<TelemetryRecorder>> record_beside_load(const Arguments& arguments,
                                                              const std::vector<Url>& urls) {
  const bool here = std::all_of(urls.begin(), urls.end(), is_here);
  const double interval = TRY(parse_telemetry(arguments.get("--telemetry", here ? "10" : "off")));
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
    if (metric.name != energy_per_token) continue;
    text += fmt::format("  energy of the GPUs: {} J per output token\n",
                        format_significant(metric.value));
  }
  return text;
}

}  // namespace assay::cli

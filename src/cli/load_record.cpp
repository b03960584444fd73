// The record of a load point.
#include <fmt/format.h>

#include <filesystem>

#include "cli/load_request.h"
#include "measure/sampling/runner.h"
#include "serving/results/serving_record.h"
#include "serving/workload/datasets.h"

namespace assay::cli {
namespace {

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

}  // namespace

Record load_record(const LoadRequest& request, const LoadReport& report) {
  Record record = serving_record(report.result, workload_axes(request));
  record.time = utc_now();
  record.device.backend = "other";
  record.device.name = request.settings.plan.request.model;
  for (std::size_t i = 0; i < request.urls.size(); ++i) {  // names of notes must be distinct
    record.notes.emplace_back(request.urls.size() == 1 ? "url" : fmt::format("url {}", i),
                              text_of(request.urls[i]));
  }
  const RequestOptions& options = request.settings.plan.request;
  record.notes.emplace_back("api", name_of(options.api));
  record.notes.emplace_back("seed", fmt::format("{}", request.settings.prompts.seed));
  record.notes.emplace_back("balance", name_of(request.settings.plan.balance));
  record.notes.insert(record.notes.end(), request.notes.begin(), request.notes.end());
  if (report.server) add_server_metrics(record, *report.server);
  if (report.interrupted) {
    record.status = RecordStatus::interrupted;
    record.reason = "stopped before all requests were sent";
  }
  return record;
}

}  // namespace assay::cli

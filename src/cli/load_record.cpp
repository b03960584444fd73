// The record of a point of load.
#include <fmt/format.h>

#include "cli/load_request.h"
#include "measure/runner.h"
#include "serving/results/serving_record.h"

namespace assay::cli {
namespace {

/// The axes of the record that say what was sent.
std::vector<std::pair<std::string, std::string>> workload_axes(const PromptSettings& prompts) {
  std::vector<std::pair<std::string, std::string>> axes = {
      {"dataset", std::string(name_of(prompts.dataset))}};
  const bool made = prompts.file.empty();
  if (made) axes.emplace_back("input", fmt::format("{}", prompts.input_tokens));
  if (made || prompts.output_tokens) {
    axes.emplace_back("output", fmt::format("{}", prompts.output_tokens.value_or(128)));
  }
  if (prompts.input_spread > 0)
    axes.emplace_back("spread", fmt::format("{}", prompts.input_spread));
  if (prompts.prefix_tokens > 0)
    axes.emplace_back("prefix", fmt::format("{}", prompts.prefix_tokens));
  return axes;
}

}  // namespace

Record load_record(const LoadRequest& request, const LoadReport& report) {
  Record record = serving_record(report.result, workload_axes(request.asked_prompts));
  record.time = utc_now();
  record.device.backend = "other";
  record.device.name = request.settings.plan.request.model;
  for (std::size_t i = 0; i < request.urls.size(); ++i) {  // notes have names that differ
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

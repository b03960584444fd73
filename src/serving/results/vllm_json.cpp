#include "serving/results/vllm_json.h"

#include <algorithm>

#include "core/json.h"
#include "serving/results/reply_times.h"

namespace assay {
namespace {

std::string error_of(const RequestLog& log) {
  if (log.succeeded()) return {};
  if (!log.error.empty()) return log.error;
  return log.empty() ? "no token came" : std::string(name_of(log.reply_end));
}

void add_arrays(Json& json, const std::vector<RequestLog>& logs) {
  std::vector<const RequestLog*> ordered;
  for (const RequestLog& log : logs) ordered.push_back(&log);
  std::sort(ordered.begin(), ordered.end(),
            [](const RequestLog* a, const RequestLog* b) { return a->index < b->index; });
  const char* const keys[] = {"input_lens", "output_lens",     "ttfts",
                              "itls",       "generated_texts", "errors"};
  for (const char* key : keys) json[key] = Json::array();
  for (const RequestLog* log : ordered) {
    const bool good = log->succeeded();
    json["input_lens"].push_back(good ? log->prompt_tokens : log->prompt_asked);
    json["output_lens"].push_back(good ? log->output_tokens : 0);
    json["ttfts"].push_back(good ? ttft_of(*log) : 0.0);
    json["itls"].push_back(log->gaps);
    json["generated_texts"].push_back("");
    json["errors"].push_back(error_of(*log));
  }
}

void add_statistics(Json& json, const std::string& name, const Latency& latency) {
  constexpr double milliseconds = 1e3;
  const auto put = [&](const char* statistic, double value) {
    json[statistic + ("_" + name + "_ms")] = value * milliseconds;
  };
  put("mean", latency.mean);
  put("median", latency.median);
  put("std", latency.deviation);
  if (const Percentile* p99 = latency.percentile(99)) put("p99", p99->value);
}

}  // namespace

std::string vllm_json(const VllmNames& names, const ServingResult& result,
                      const std::vector<RequestLog>* details) {
  const OfferedLoad& load = result.load;
  Json json;
  json["date"] = names.date;
  json["endpoint_type"] = names.endpoint_type;
  json["label"] = names.label ? Json(*names.label) : Json();
  json["model_id"] = names.model_id;
  json["tokenizer_id"] = names.tokenizer_id;
  json["num_prompts"] = load.num_prompts;
  json["request_rate"] = load.is_open_loop() ? Json(load.request_rate) : Json("inf");
  json["burstiness"] = load.burstiness;
  json["max_concurrency"] = load.max_concurrency ? Json(*load.max_concurrency) : Json();
  json["duration"] = result.duration;
  json["completed"] = result.counts.completed;
  json["total_input_tokens"] = result.counts.input_tokens;
  json["total_output_tokens"] = result.counts.output_tokens;
  json["request_throughput"] = result.request_throughput;
  json["request_goodput"] = result.goodput ? Json(*result.goodput) : Json();
  json["output_throughput"] = result.output_throughput;
  json["total_token_throughput"] = result.total_throughput;
  if (details != nullptr) add_arrays(json, *details);
  add_statistics(json, "ttft", result.ttft);
  add_statistics(json, "tpot", result.tpot);
  add_statistics(json, "itl", result.itl);
  add_statistics(json, "e2el", result.e2el);
  // Errors quote servers, whose text need not be UTF-8.
  return json_line(json) + "\n";
}

}  // namespace assay

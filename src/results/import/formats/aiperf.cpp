// profile_export_aiperf.json of aiperf and genai-perf: an object per metric with its unit and
// statistics.
#include <fmt/format.h>

#include <array>

#include "results/import/aiperf_names.h"
#include "results/import/json_documents.h"
#include "results/import/serving.h"
#include "results/import/text_lines.h"

namespace assay::aiperf_importer {
namespace {

class Aiperf final : public Importer {
 public:
  std::string_view name() const override { return "aiperf"; }
  std::string_view summary() const override {
    return "profile_export_aiperf.json and profile_export_genai_perf.json";
  }
  int recognises(const ImportText& input) const override {
    return looks_like_json(input.text) && contains(input.text, "\"request_latency\"") &&
                   contains(input.text, "\"unit\"") && contains(input.text, "\"avg\"") &&
                   !contains(input.text, "\"benchmarks\"")
               ? 90
               : 0;
  }
  Result<Imported> import(const ImportText& input) const override {
    Draft draft(input, name(), "aiperf");
    for (const JsonDocument& document : TRY(parse_json_documents(input))) {
      draft.next_run();
      TRY(add(draft, document));
    }
    return draft.finish();
  }

 private:
  static Status add(Draft& draft, const JsonDocument& document) {
    const JsonNode& top = document.node;
    if (!top.is_object()) return draft.wrong(document.line, "it is not an object");
    RunFacts& run = draft.run();
    run.version = top.at("aiperf_version");
    const JsonNode* config = top.find("input_config");
    if (config != nullptr && (config->find("perf_analyzer") != nullptr ||
                              config->find("formatted_model_name") != nullptr)) {
      run.tool = "genai-perf";
    }
    run.time = top.at("start_time");
    Record& record = draft.add(Cell("serving", axes_of(run, top)), document.line);
    // Throughputs first: they are single numbers and the main result.
    for (const bool throughput : {true, false}) {
      for (std::size_t i = 0; i < top.items.size(); ++i) {
        const bool is = contains(top.keys[i], "throughput") || contains(top.keys[i], "goodput");
        if (is == throughput) add_tag(record, top.keys[i], top.items[i]);
      }
    }
    if (record.metrics.empty()) return draft.wrong(document.line, "no metric with unit and avg");
    judge(record, top);
    return {};
  }

  static std::vector<std::pair<std::string, std::string>> axes_of(RunFacts& run,
                                                                  const JsonNode& top) {
    std::vector<std::pair<std::string, std::string>> axes;
    const JsonNode* config = top.find("input_config");
    if (config == nullptr) return axes;
    if (const JsonNode* load = load_of(*config)) {
      // The second of two names is that of a phase.
      for (const auto& [axis, other] : {std::pair{"request_rate", "rate"},
                                        {"concurrency", "concurrency"},
                                        {"request_count", "requests"}}) {
        const std::string_view value = load->at(axis).empty() ? load->at(other) : load->at(axis);
        if (!value.empty()) axes.emplace_back(axis, rate_text(value));
      }
    }
    if (const JsonNode* endpoint = config->find("endpoint")) {
      note_model(run, endpoint->find("model_names"));
      run.note("endpoint_type", endpoint->at("type"));
    }
    if (const JsonNode* models = config->find("models")) note_model(run, models->find("items"));
    note_model(run, config->find("model"));
    return axes;
  }

  /// Where the load is configured: "loadgen" until version 0.9, the profiling one of "phases" since
  /// 0.10; in genai-perf "perf_analyzer.stimulus" or the configuration itself.
  static const JsonNode* load_of(const JsonNode& config) {
    if (const JsonNode* load = config.find("loadgen")) return load;
    if (const JsonNode* analyzer = config.find("perf_analyzer")) return analyzer->find("stimulus");
    const JsonNode* phases = config.find("phases");
    if (phases == nullptr) return &config;
    for (const JsonNode& phase : phases->items) {
      if (phase.at("name") == "profiling" || phase.at("kind") == "profiling") return &phase;
    }
    return phases->items.empty() ? nullptr : &phases->items.back();
  }

  /// Notes the first of a list of names, or of objects with a name.
  static void note_model(RunFacts& run, const JsonNode* models) {
    if (models == nullptr || models->items.empty()) return;
    const JsonNode& first = models->items.front();
    run.note("model_id", first.is_object() ? first.at("name") : std::string_view(first.text));
  }

  static void add_tag(Record& record, const std::string& tag, const JsonNode& values) {
    if (!values.number_at("avg")) return;
    const MeasuredUnit unit = aiperf_unit(values.at("unit"));
    const Better better = aiperf_better(tag, unit);
    const bool single = !values.number_at("p50") && !values.number_at("std");
    for (const auto& [key, statistic] : aiperf_statistics) {
      if (single && key != "avg") continue;
      const std::string name =
          single ? aiperf_name(tag) : fmt::format("{}_{}", statistic, aiperf_name(tag));
      add_metric(record, values, key, name, unit.factor, unit.si, better);
    }
  }

  static void judge(Record& record, const JsonNode& top) {
    const auto count = [&](const char* tag) {
      const JsonNode* values = top.find(tag);
      return values == nullptr ? std::nullopt : values->number_at("avg");
    };
    const auto good = count("request_count"), bad = count("error_request_count");
    if (top.at("was_cancelled") == "true") {
      record.status = RecordStatus::interrupted;
      record.reason = "the benchmark was cancelled";
    }
    const auto tokens = count("output_token_throughput");
    if ((bad && bad > good.value_or(0)) || (good && *good == 0) || (tokens && *tokens == 0)) {
      record.status = RecordStatus::failed;
      record.reason = tokens && *tokens == 0
                          ? "no reply has a token"
                          : fmt::format("{:.0f} requests succeeded, {:.0f} failed",
                                        good.value_or(0), bad.value_or(0));
    }
  }
};

const Aiperf importer;
const ImporterRegistry::Add registered{&importer};

}  // namespace
}  // namespace assay::aiperf_importer

// profile_export_aiperf.json of aiperf and genai-perf: an object per metric with its unit and
// statistics.
#include <fmt/format.h>

#include <array>

#include "core/measured_unit.h"
#include "measure/import/json_documents.h"
#include "measure/import/serving.h"
#include "measure/import/text_lines.h"

namespace assay::aiperf_importer {
namespace {

/// "ms" means seconds / 1000, "tokens/sec/user" and "requests/sec" are rates, everything else is a
/// count.
MeasuredUnit unit_of(std::string_view text) {
  if (const auto known = measured_unit(text)) return *known;
  if (contains(text, "token") && contains(text, "/s")) return {"tokens/s", 1};
  if (contains(text, "/s")) return {"1/s", 1};
  return {"1", 1};
}

/// In display order.
constexpr std::array<std::pair<std::string_view, std::string_view>, 9> statistics = {
    {{"avg", "mean"},
     {"p50", "median"},
     {"std", "std"},
     {"min", "min"},
     {"max", "max"},
     {"p90", "p90"},
     {"p95", "p95"},
     {"p99", "p99"},
     {"p1", "p1"}}};

/// Metric names for tags, as in other importers.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> renamed = {
    {{"time_to_first_token", "ttft"},
     {"inter_token_latency", "itl"},
     {"request_latency", "e2el"},
     {"time_to_second_token", "ttst"}}};

std::string short_name(std::string_view tag) {
  for (const auto& [from, to] : renamed) {
    if (from == tag) return std::string(to);
  }
  return identifier(tag);
}

class Aiperf final : public Importer {
 public:
  std::string_view name() const override { return "aiperf"; }
  std::string_view summary() const override { return "aiperf's profile_export_aiperf.json"; }
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
    run.time = top.at("start_time");
    Record& record = draft.add(Cell("serving", axes_of(run, top)), document.line);
    // Throughputs first: they are single numbers and the main result.
    for (const bool throughput : {true, false}) {
      for (std::size_t i = 0; i < top.items.size(); ++i) {
        const bool is = contains(top.keys[i], "throughput") || contains(top.keys[i], "goodput");
        if (is == throughput) add_tag(record, top.keys[i], top.items[i], throughput);
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
    const JsonNode* load = config->find("loadgen");
    if (load != nullptr) {
      for (const char* key : {"request_rate", "concurrency", "request_count"}) {
        if (!load->at(key).empty()) axes.emplace_back(key, rate_text(load->at(key)));
      }
    }
    if (const JsonNode* endpoint = config->find("endpoint")) {
      const JsonNode* models = endpoint->find("model_names");
      if (models != nullptr && !models->items.empty()) {
        run.note("model_id", models->items.front().text);
      }
      run.note("endpoint_type", endpoint->at("type"));
    }
    return axes;
  }

  static void add_tag(Record& record, const std::string& tag, const JsonNode& values,
                      bool throughput) {
    if (!values.number_at("avg")) return;
    const MeasuredUnit unit = unit_of(values.at("unit"));
    const Better better = unit.si == "s"                 ? Better::lower
                          : throughput || unit.si != "1" ? Better::higher
                                                         : Better::neither;
    const bool single = !values.number_at("p50") && !values.number_at("std");
    for (const auto& [key, statistic] : statistics) {
      if (single && key != "avg") continue;
      const std::string name =
          single ? short_name(tag) : fmt::format("{}_{}", statistic, short_name(tag));
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

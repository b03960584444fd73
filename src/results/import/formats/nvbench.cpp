// nvbench's --json: benchmarks, their states, and each state's summaries with a tag and a hint
// about the unit. Whole numbers are written as text.
#include <fmt/format.h>

#include <array>
#include <map>

#include "results/import/json_documents.h"
#include "results/import/text_lines.h"

namespace assay::nvbench_importer {
namespace {

struct Hint {
  std::string_view hint;
  std::string_view unit;
  Better better;
};
constexpr std::array<Hint, 6> hints = {{{"duration", "s", Better::lower},
                                        {"byte_rate", "bytes/s", Better::higher},
                                        {"item_rate", "1/s", Better::higher},
                                        {"percentage", "1", Better::neither},
                                        {"bytes", "bytes", Better::neither},
                                        {"sample_size", "1", Better::neither}}};

/// Shortens tags; "nv/batch/time/gpu/mean" would otherwise become batch_time_gpu_mean.
std::string metric_name(std::string_view tag) {
  if (tag == "nv/cold/bw/global/bytes_per_second") return "bandwidth";
  if (tag == "nv/cold/time/gpu/mean") return "gpu_time";
  if (tag == "nv/cold/time/gpu/stdev/relative") return "gpu_time_noise";
  return identifier(tag.starts_with("nv/") ? tag.substr(3) : tag);
}

/// A summary's member "value"; null if absent.
const JsonNode* value_of(const JsonNode& summary) {
  const JsonNode* data = summary.find("data");
  if (data == nullptr) return nullptr;
  for (const JsonNode& item : data->items) {
    if (item.at("name") == "value") return item.find("value");
  }
  return nullptr;
}

class Nvbench final : public Importer {
 public:
  std::string_view name() const override { return "nvbench"; }
  std::string_view summary() const override { return "nvbench's JSON"; }
  int recognises(const ImportText& input) const override {
    // Of a large file, only its ends may be seen here.
    const bool named = contains(input.text, "\"states\"") || contains(input.text, "\"nvbench\"");
    return named && contains(input.text, "\"summaries\"") && looks_like_json(input.text) ? 95 : 0;
  }
  Result<Imported> import(const ImportText& input) const override {
    Draft draft(input, name(), "nvbench");
    for (const JsonDocument& document : TRY(parse_json_documents(input))) {
      const JsonNode* benchmarks = document.node.find("benchmarks");
      if (benchmarks == nullptr || !benchmarks->is_array()) {
        return draft.wrong(document.line, "benchmarks is missing or not an array");
      }
      draft.next_run();
      facts(draft.run(), document.node);
      const Devices devices = devices_of(document.node.find("devices"));
      for (const JsonNode& benchmark : benchmarks->items) {
        const JsonNode* states = benchmark.find("states");
        if (states == nullptr) continue;
        for (const JsonNode& state : states->items) {
          add(draft, benchmark.at("name"), state, devices, document.line);
        }
      }
    }
    return draft.finish();
  }

 private:
  static void facts(RunFacts& run, const JsonNode& top) {
    const JsonNode* meta = top.find("meta");
    const JsonNode* version = meta == nullptr ? nullptr : meta->find("version");
    const JsonNode* nvbench = version == nullptr ? nullptr : version->find("nvbench");
    if (nvbench != nullptr) run.version = nvbench->at("string");
  }

  using Devices = std::map<std::string_view, std::string_view>;  // names by id

  static Devices devices_of(const JsonNode* list) {
    Devices devices;
    if (list == nullptr) return devices;
    for (const JsonNode& device : list->items) devices.emplace(device.at("id"), device.at("name"));
    return devices;
  }

  static void add(Draft& draft, std::string_view benchmark, const JsonNode& state,
                  const Devices& devices, std::size_t line) {
    std::vector<std::pair<std::string, std::string>> axes = {{"name", std::string(benchmark)}};
    if (const JsonNode* values = state.find("axis_values")) {
      for (const JsonNode& axis : values->items) {
        axes.emplace_back(identifier(axis.at("name")), axis.at("value"));
      }
    }
    Record& record = draft.add(Cell("nvbench", std::move(axes)), line);
    const auto device = devices.find(state.at("device"));
    if (device != devices.end()) record.device.name = device->second;
    if (const JsonNode* summaries = state.find("summaries")) add_metrics(record, *summaries);
    if (state.at("is_skipped") == "true") {
      record.status = RecordStatus::unsupported;
      record.reason =
          state.at("skip_reason").empty() ? "nvbench skipped it" : state.at("skip_reason");
    } else if (record.metrics.empty()) {
      record.status = RecordStatus::error;
      record.reason = "it reports no numbers";
    }
  }

  /// Adds bandwidth first, if there is one, then the mean time on the GPU.
  static void add_metrics(Record& record, const JsonNode& summaries) {
    const auto place = [](std::string_view name) {
      return name == "bandwidth" ? 0 : name == "gpu_time" ? 1 : 2;
    };
    for (int wanted = 0; wanted < 3; ++wanted) {
      for (const JsonNode& summary : summaries.items) {
        const std::string_view tag = summary.at("tag");
        const std::string name = metric_name(tag.empty() ? summary.at("name") : tag);
        const JsonNode* value = value_of(summary);
        if (name.empty() || place(name) != wanted || value == nullptr) continue;
        const auto number = value->number();
        if (!number) continue;  // text, or Infinity
        std::string_view unit;
        Better better = Better::neither;
        for (const Hint& hint : hints) {
          if (hint.hint != summary.at("hint")) continue;
          unit = hint.unit;
          better = hint.better;
        }
        if (name == "gpu_time_noise") better = Better::lower;
        record.metrics.push_back(metric(name, *number, unit, better, value->text));
      }
    }
  }
};

const Nvbench importer;
const ImporterRegistry::Add registered{&importer};

}  // namespace
}  // namespace assay::nvbench_importer

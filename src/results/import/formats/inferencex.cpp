// agg_*.json of InferenceX: one flat object of the settings and rates of a serving benchmark. Its
// times are seconds.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/text.h"
#include "results/import/json_documents.h"
#include "results/import/text_lines.h"

namespace assay::inferencex_importer {
namespace {

/// Members that are no settings, or settings of the machine that notes name.
constexpr std::array<std::string_view, 3> noted = {"image", "hw", "infmax_model_prefix"};

/// "mean_ttft", "p99.9_e2el", "median_intvty": the statistic and the quantity.
std::optional<std::pair<std::string, std::string>> quantity_of(std::string_view key) {
  const std::size_t at = key.find('_');
  if (at == key.npos) return std::nullopt;
  const std::string_view statistic = key.substr(0, at), quantity = key.substr(at + 1);
  const bool percentile =
      statistic.size() > 1 && statistic[0] == 'p' && parse_number(statistic.substr(1)).has_value();
  if (statistic != "mean" && statistic != "median" && statistic != "std" && !percentile) {
    return std::nullopt;
  }
  for (const char* known : {"ttft", "tpot", "itl", "e2el", "intvty"}) {
    if (quantity == known) return std::pair{identifier(statistic), std::string(quantity)};
  }
  return std::nullopt;
}

class InferenceX final : public Importer {
 public:
  std::string_view name() const override { return "inferencex"; }
  std::string_view summary() const override { return "InferenceX's agg_*.json"; }
  int recognises(const ImportText& input) const override {
    return looks_like_json(input.text) && contains(input.text, "\"tput_per_gpu\"") ? 95 : 0;
  }
  Result<Imported> import(const ImportText& input) const override {
    Draft draft(input, name(), "InferenceX");
    for (const JsonDocument& document : TRY(parse_json_documents(input))) {
      const bool array = document.node.is_array();
      const JsonNode* begin = array ? document.node.items.data() : &document.node;
      for (std::size_t i = 0; i < (array ? document.node.items.size() : 1); ++i) {
        draft.next_run();
        TRY(add(draft, begin[i], document.line));
      }
    }
    return draft.finish();
  }

 private:
  static Status add(Draft& draft, const JsonNode& result, std::size_t line) {
    if (!result.number_at("tput_per_gpu")) return draft.wrong(line, "tput_per_gpu is missing");
    constexpr std::size_t most_axes = 32;
    std::vector<std::pair<std::string, std::string>> axes;
    std::vector<Metric> metrics;
    const auto rate = [&](const char* key, const char* name) {
      if (const auto value = result.number_at(key)) {
        metrics.push_back(metric(name, *value, "tokens/s", Better::higher, result.at(key)));
      }
    };
    rate("output_tput_per_gpu", "output_throughput_per_gpu");
    rate("tput_per_gpu", "total_throughput_per_gpu");
    rate("input_tput_per_gpu", "input_throughput_per_gpu");
    for (std::size_t i = 0; i < result.items.size() && i < result.keys.size(); ++i) {
      const std::string& key = result.keys[i];
      const JsonNode& value = result.items[i];
      if (value.is_array() || value.is_object() || key.ends_with("tput_per_gpu")) continue;
      if (const auto quantity = quantity_of(key)) {
        const auto number = value.number();
        if (!number) continue;
        const bool speed = quantity->second == "intvty";  // tokens/s of each user
        metrics.push_back(metric(fmt::format("{}_{}", quantity->first, quantity->second), *number,
                                 speed ? "tokens/s" : "s", speed ? Better::higher : Better::lower,
                                 value.text));
      } else if (std::find(noted.begin(), noted.end(), key) != noted.end()) {
        draft.run().note(key, value.text);
      } else if (!value.text.empty() && axes.size() < most_axes) {
        axes.emplace_back(identifier(key), value.text);
      }
    }
    draft.run().device = result.at("hw");
    Record& record = draft.add(Cell("serving", std::move(axes)), line);
    record.metrics = std::move(metrics);
    return {};
  }
};

const InferenceX importer;
const ImporterRegistry::Add registered{&importer};

}  // namespace
}  // namespace assay::inferencex_importer

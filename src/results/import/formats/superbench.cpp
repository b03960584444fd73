// SuperBench's results-summary.jsonl: one flat object per node with keys
// benchmark[:annotation]/[repeat/]metric[:rank]. Values have no unit there, and none is added here.
#include <fmt/format.h>

#include <array>
#include <map>

#include "core/text.h"
#include "results/import/json_documents.h"
#include "results/import/text_lines.h"

namespace assay::superbench_importer {
namespace {

struct Key {
  std::string benchmark, repeat, metric, rank;
};

/// Nullopt if the key has no slash.
std::optional<Key> split_key(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  Key key;
  key.benchmark = text.substr(0, slash);
  std::string_view rest = text.substr(slash + 1);
  const std::size_t second = rest.find('/');
  if (second != std::string_view::npos && parse_count(rest.substr(0, second))) {
    key.repeat = rest.substr(0, second);
    rest = rest.substr(second + 1);
  }
  const std::size_t colon = rest.rfind(':');
  if (colon != std::string_view::npos && parse_count(rest.substr(colon + 1))) {
    key.rank = rest.substr(colon + 1);
    rest = rest.substr(0, colon);
  }
  key.metric = rest;
  return key;
}

/// The better direction according to the name; neither if it gives no hint.
Better better_of(std::string_view name) {
  constexpr std::array<std::string_view, 5> lower = {"time", "latency", "_lat", "_us", "_ms"};
  constexpr std::array<std::string_view, 6> higher = {"bw",   "bandwidth",  "flops",
                                                      "iops", "throughput", "steps_per_sec"};
  const std::string text = lower_case(name);
  for (const std::string_view word : higher) {
    if (contains(text, word)) return Better::higher;
  }
  for (const std::string_view word : lower) {
    if (contains(text, word)) return Better::lower;
  }
  return Better::neither;
}

/// Whether a member whose key has a slash is a number. Other programs' files name a node too:
/// package.json the version of Node.js that it needs.
bool has_metric(std::string_view text) {
  for (std::size_t at = text.find("\":"); at != text.npos; at = text.find("\":", at + 2)) {
    const std::size_t open = at == 0 ? text.npos : text.rfind('"', at - 1);
    const std::size_t value = text.find_first_not_of(" \t", at + 2);
    if (open == text.npos || value == text.npos) continue;
    const bool slash = contains(text.substr(open, at - open), "/");
    if (slash && contains("-0123456789", text.substr(value, 1))) return true;
  }
  return false;
}

class SuperBench final : public Importer {
 public:
  std::string_view name() const override { return "superbench"; }
  std::string_view summary() const override { return "SuperBench's results-summary.jsonl"; }
  int recognises(const ImportText& input) const override {
    if (!contains(input.text, "\"node\"") || !looks_like_json(input.text)) return 0;
    if (contains(input.text, "/return_code")) return 95;
    return has_metric(input.text) ? 40 : 0;
  }
  Result<Imported> import(const ImportText& input) const override {
    Draft draft(input, name(), "SuperBench");
    for (const JsonDocument& document : TRY(parse_json_documents(input))) {
      draft.next_run();
      if (!document.node.is_object()) return draft.wrong(document.line, "it is not an object");
      draft.run().note("hosts", document.node.at("node"));
      add_node(draft, document);
    }
    return draft.finish();
  }

 private:
  static void add_node(Draft& draft, const JsonDocument& document) {
    const JsonNode& node = document.node;
    const auto failed = failures(node);
    for (std::size_t i = 0; i < node.items.size(); ++i) {
      const auto key = split_key(node.keys[i]);
      if (!key) continue;
      const auto value = node.items[i].number();
      if (!value) {
        if (node.items[i].kind != JsonNode::Kind::null) {
          draft.warn(document.line, fmt::format("{} is not a number, skipped", node.keys[i]));
        }
        continue;
      }
      Record& record = add(draft, *key, *value, node.items[i].text, document.line);
      // Numbers of a failed benchmark are kept, but not as results.
      const auto code = failed.find(key->benchmark);
      if (code == failed.end()) continue;
      record.status = RecordStatus::failed;
      record.reason = fmt::format("{} ended with return code {}", key->benchmark, code->second);
    }
  }

  static Record& add(Draft& draft, const Key& key, double value, std::string_view text,
                     std::size_t line) {
    std::vector<std::pair<std::string, std::string>> axes = {{"benchmark", key.benchmark},
                                                             {"metric", key.metric}};
    if (!key.repeat.empty()) axes.emplace_back("repeat", key.repeat);
    if (!key.rank.empty()) axes.emplace_back("rank", key.rank);
    Record& record = draft.add(Cell("superbench", std::move(axes)), line);
    record.metrics = {metric("value", value, "", better_of(key.metric), text)};
    return record;
  }

  /// Benchmarks whose return code is not 0.
  static std::map<std::string, std::string> failures(const JsonNode& node) {
    std::map<std::string, std::string> failed;
    for (std::size_t i = 0; i < node.items.size(); ++i) {
      const auto key = split_key(node.keys[i]);
      if (!key || key->metric != "return_code") continue;
      const auto code = node.items[i].number();
      if (code && *code != 0) failed[key->benchmark] = node.items[i].text;
    }
    return failed;
  }
};

const SuperBench importer;
const ImporterRegistry::Add registered{&importer};

}  // namespace
}  // namespace assay::superbench_importer

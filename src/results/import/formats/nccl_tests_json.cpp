// The output of -J of nccl-tests, and of rccl-tests since 2026. The array `env` is never read: it
// contains the whole environment, secrets included.
#include <fmt/format.h>

#include "core/text.h"
#include "results/import/collective.h"
#include "results/import/json_documents.h"
#include "results/import/text_lines.h"

namespace assay::nccl_tests_json_importer {
namespace {

/// "0" of "0.000000": doubles are written with six decimals, even counts.
std::string count_text(std::string_view text) {
  const auto value = parse_number(text);
  if (!value || *value < 0 || *value > 1e15) return std::string(text);
  return fmt::format("{}", static_cast<std::uint64_t>(*value));
}

class NcclTestsJson final : public Importer {
 public:
  std::string_view name() const override { return "nccl-tests-json"; }
  std::string_view summary() const override {
    return "JSON written by nccl-tests and rccl-tests with -J";
  }
  int recognises(const ImportText& input) const override {
    return looks_like_json(input.text) && contains(input.text, "\"out_of_place\"") ? 95 : 0;
  }
  Result<Imported> import(const ImportText& input) const override {
    Draft draft(input, name(), "nccl-tests");
    for (const JsonDocument& document : TRY(parse_json_documents(input))) {
      draft.next_run();
      TRY(add_run(draft, document));
    }
    return draft.finish();
  }

 private:
  static Status add_run(Draft& draft, const JsonDocument& document) {
    const JsonNode& top = document.node;
    const JsonNode* results = top.find("results");
    if (results == nullptr || !results->is_array()) {
      return draft.wrong(document.line, "results is missing or not an array");
    }
    RunFacts& run = draft.run();
    if (top.find("rccl_version") != nullptr) run.tool = "rccl-tests";
    run.note("library", top.at(run.tool == "rccl-tests" ? "rccl_version" : "nccl_version"));
    run.time = top.at("start_time");
    std::string op;
    if (const JsonNode* args = top.find("args"); args != nullptr && !args->items.empty()) {
      std::string_view program = args->items.front().text;
      const std::size_t slash = program.rfind('/');
      if (slash != std::string_view::npos) program.remove_prefix(slash + 1);
      op = collective_name(program);
    }
    const std::uint64_t ranks = config(run, top.find("config"));
    for (const JsonNode& row : results->items) {
      add_half(draft, row, "out", op, ranks, document.line);
      add_half(draft, row, "in", op, ranks, document.line);
    }
    const JsonNode* bounds = top.find("out_of_bounds");
    const bool failed = bounds != nullptr && bounds->at("okay") == "false";
    for (std::size_t i = 0; failed && i < draft.run_size(); ++i) {
      Record& record = draft.run_records()[i];
      if (record.status != RecordStatus::passed) continue;
      record.status = RecordStatus::failed;
      record.reason = fmt::format("the run counts {} wrong results", bounds->at("count"));
    }
    return {};
  }

  /// Adds settings as notes. Returns the number of ranks if all devices are listed; builds without
  /// MPI list only the first.
  static std::uint64_t config(RunFacts& run, const JsonNode* config) {
    if (config == nullptr) return 0;
    for (const char* key :
         {"nthreads", "ngpus", "warmup_iters", "iterations", "aggregated_iterations", "validation",
          "graph", "blocking_collectives"}) {
      run.note(key, config->at(key));
    }
    const JsonNode* devices = config->find("devices");
    if (devices == nullptr || devices->items.empty()) return 0;
    std::uint64_t ranks = 0;
    std::string hosts;
    for (const JsonNode& device : devices->items) {
      if (device.at("group") == devices->items.front().at("group")) ++ranks;
      if (run.device.empty()) run.device = device.at("device_info");
      const std::string_view host = device.at("hostname");
      if (hosts.size() < 400 && !contains(hosts, host)) {
        hosts += hosts.empty() ? "" : ",";
        hosts += host;
      }
    }
    run.note("hosts", hosts);
    const auto local =
        config->number_at("ngpus").value_or(1) * config->number_at("nthreads").value_or(1);
    return static_cast<double>(ranks) < local ? 0 : ranks;
  }

  static void add_half(Draft& draft, const JsonNode& row, const char* place, const std::string& op,
                       std::uint64_t ranks, std::size_t line) {
    const std::string key = std::string_view(place) == "out" ? "out_of_place" : "in_place";
    const JsonNode* half = row.find(key);
    if (half == nullptr || !half->is_object()) return;
    const auto size = parse_count(row.at("size"));
    if (!size) {
      draft.warn(line, "a result without size, skipped");
      return;
    }
    CollectiveRow values;
    values.op = op;
    values.type = row.at("type");
    values.redop = row.at("redop");
    values.root = trim(row.at("root"));
    values.place = place;
    values.ranks = ranks;
    values.size = *size;
    values.cpu_time = half->find("time") == nullptr;
    values.time = half->at(values.cpu_time ? "cpu_time" : "time");
    values.algbw = half->at("alg_bw");
    values.busbw = half->at("bus_bw");
    const std::string wrong = count_text(half->at("nwrong"));
    values.wrong = wrong;
    Record* record = add_collective(draft, values, line);
    if (record == nullptr) {
      draft.warn(line, fmt::format("size {}: its {} values are not numbers, skipped", *size, key));
      return;
    }
    add_metric(*record, *half, "hip_event_time", "event_time", 1e-6, "s", Better::lower);
    if (const JsonNode* each = row.find(key + "_per_iter")) {
      for (const char* name : {"min_us", "max_us", "avg_us", "p50_us", "p95_us", "p99_us"}) {
        const std::string_view text(name);
        add_metric(*record, *each, name, fmt::format("i_{}", text.substr(0, text.size() - 3)), 1e-6,
                   "s", Better::lower);
      }
      add_metric(*record, *each, "cv_pct", "i_cv", 1e-2, "1", Better::lower);
    }
    note(*record, "iterations", row.at("actual_iterations"));
  }
};

const NcclTestsJson importer;
const ImporterRegistry::Add registered{&importer};

}  // namespace
}  // namespace assay::nccl_tests_json_importer

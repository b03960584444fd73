// perf.csv of AMD's MAD / madengine: one row per model, with the single number that its script
// printed; and perf_MODEL.csv of models that print several, a row for each.
#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"
#include "results/import/csv.h"
#include "results/import/record_builder.h"
#include "results/import/text_lines.h"
#include "results/record/measured_unit.h"

namespace assay::mad_importer {
namespace {

/// The unit has whatever spelling the script chose.
Metric performance_metric(std::string_view name, double value, std::string_view unit,
                          std::string_view text) {
  const std::string lower = lower_case(unit);
  if (const auto known = measured_unit(unit)) {
    return metric(name, to_si(value, known->factor), known->si,
                  known->si == "s" ? Better::lower : Better::higher, text);
  }
  if (contains(lower, "latency")) return metric(name, value, unit, Better::lower, text);
  const bool tokens = contains(lower, "token") || contains(lower, "tok/s");
  const bool rate =
      contains(lower, "/s") || contains(lower, "per_second") || contains(lower, "per second");
  return metric(name, value, rate ? (tokens ? "tokens/s" : "1/s") : unit, Better::higher, text);
}

class Mad final : public Importer {
 public:
  std::string_view name() const override { return "mad"; }
  std::string_view summary() const override { return "perf.csv of MAD and madengine"; }
  int recognises(const ImportText& input) const override {
    const std::string_view head = input.text.substr(0, 8192);
    return !looks_quoted_json(head) && contains(head, "model,") && contains(head, "performance,") &&
                   contains(head, "metric")
               ? 90
               : 0;
  }
  Result<Imported> import(const ImportText& input) const override {
    Draft draft(input, name(), "madengine");
    CsvReader csv(input.text, ',');
    CsvTable table;
    CsvRow row;
    while (!draft.is_full() && csv.next(row)) {
      if (is_header(row)) {
        table = CsvTable(row.fields);
      } else if (table.size() == 0) {
        return draft.wrong(
            row.line, "a row before the header with the columns model, performance and metric");
      } else if (row.fields.size() != table.size()) {
        draft.warn(row.line, fmt::format("{} values under {} names, skipped", row.fields.size(),
                                         table.size()));
      } else {
        add(draft, table, row);
      }
    }
    return draft.finish();
  }

 private:
  static bool is_header(const CsvRow& row) {
    const auto has = [&](std::string_view column) {
      return std::find(row.fields.begin(), row.fields.end(), column) != row.fields.end();
    };
    return has("model") && has("performance") && has("metric");
  }

  static bool looks_quoted_json(std::string_view head) {
    return trim(head).starts_with('{') || trim(head).starts_with('[');
  }

  static void add(Draft& draft, const CsvTable& table, const CsvRow& row) {
    std::vector<std::pair<std::string, std::string>> axes;
    for (const char* key :
         {"model", "n_gpus", "nnodes", "precision", "args", "benchmark", "tp", "inp", "out",
          "kv_cache_dtype", "num_prompts", "max_concurrency", "bs"}) {
      const std::string_view value = table.at(row, key);
      if (!value.empty()) axes.emplace_back(key, value);
    }
    // With a column of units, the metric is a name, else it is the unit.
    const bool named = table.has("unit");
    const std::string_view metric_text = table.at(row, "metric");
    if (named) axes.emplace_back("metric", metric_text);
    Record& record = draft.add(Cell("mad", std::move(axes)), row.line);
    record.device.name = table.at(row, "gpu_architecture");
    for (const char* key :
         {"pipeline", "tags", "docker_file", "base_docker", "docker_image", "git_commit",
          "machine_name", "deployment_type", "launcher", "build_number", "cmd"}) {
      note(record, key, table.at(row, key));
    }
    const std::string_view text = table.at(row, "performance");
    const auto value = parse_number(text);
    if (value) {
      const std::string name = named ? identifier(metric_text) : "performance";
      record.metrics = {
          performance_metric(name, *value, named ? table.at(row, "unit") : metric_text, text)};
    }
    const std::string_view status = table.at(row, "status");
    if (!status.empty() && status != "SUCCESS") {
      record.status = RecordStatus::failed;
      record.reason = fmt::format("the run says {}", status);
    } else if (!value) {
      record.status = RecordStatus::failed;
      record.reason = text.empty() ? "it has no performance"
                                   : fmt::format("its performance is not a number: {}", text);
    }
  }
};

const Mad importer;
const ImporterRegistry::Add registered{&importer};

}  // namespace
}  // namespace assay::mad_importer

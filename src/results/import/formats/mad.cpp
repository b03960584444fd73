// perf.csv of AMD's MAD / madengine: one row per model, with the single number that its script
// printed.
#include <fmt/format.h>

#include "core/text.h"
#include "results/import/csv.h"
#include "results/import/record_builder.h"
#include "results/import/text_lines.h"
#include "results/record/measured_unit.h"

namespace assay::mad_importer {
namespace {

/// The column `metric` contains the unit, in whatever spelling the script chose.
Metric performance_metric(double value, std::string_view unit, std::string_view text) {
  const std::string lower = lower_case(unit);
  if (const auto known = measured_unit(unit)) {
    return metric("performance", to_si(value, known->factor), known->si,
                  known->si == "s" ? Better::lower : Better::higher, text);
  }
  if (contains(lower, "latency")) return metric("performance", value, unit, Better::lower, text);
  const bool tokens = contains(lower, "token") || contains(lower, "tok/s");
  const bool rate =
      contains(lower, "/s") || contains(lower, "per_second") || contains(lower, "per second");
  return metric("performance", value, rate ? (tokens ? "tokens/s" : "1/s") : unit, Better::higher,
                text);
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
    while (csv.next(row)) {
      if (row.fields.front() == "model") {
        table = CsvTable(row.fields);
      } else if (table.size() == 0) {
        return draft.wrong(row.line, "a row before the header that begins with \"model\"");
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
  static bool looks_quoted_json(std::string_view head) {
    return trim(head).starts_with('{') || trim(head).starts_with('[');
  }

  static void add(Draft& draft, const CsvTable& table, const CsvRow& row) {
    std::vector<std::pair<std::string, std::string>> axes;
    for (const char* key : {"model", "n_gpus", "nnodes", "precision", "args"}) {
      const std::string_view value = table.at(row, key);
      if (!value.empty()) axes.emplace_back(key, value);
    }
    Record& record = draft.add(Cell("mad", std::move(axes)), row.line);
    record.device.name = table.at(row, "gpu_architecture");
    for (const char* key :
         {"pipeline", "tags", "docker_file", "base_docker", "docker_image", "git_commit",
          "machine_name", "deployment_type", "launcher", "build_number"}) {
      note(record, key, table.at(row, key));
    }
    const std::string_view text = table.at(row, "performance");
    const auto value = parse_number(text);
    if (value) {
      record.metrics = {performance_metric(*value, table.at(row, "metric"), text)};
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

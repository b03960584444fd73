// What rccl-tests writes with -x or -X FILE -Z json|csv: one row per half.
#include <fmt/format.h>

#include "core/text.h"
#include "results/import/collective.h"
#include "results/import/csv.h"
#include "results/import/json_documents.h"
#include "results/import/text_lines.h"

namespace assay::rccl_reporter_importer {
namespace {

/// `at(key)` returns the row's text for that key.
template <typename At>
void add_row(Draft& draft, std::size_t line, const At& at) {
  const auto size = parse_count(at("size"));
  if (!size || collective_name(at("name")).empty()) {
    draft.warn(line, "a result without operation or size, skipped");
    return;
  }
  CollectiveRow row;
  row.op = collective_name(at("name"));
  row.type = at("type");
  row.redop = at("redop");
  row.place = at("inPlace") == "1" || at("inPlace") == "true" ? "in" : "out";
  const auto ranks = parse_count(at("ranks").empty() ? at("gpus") : at("ranks"));
  row.ranks = ranks.value_or(0);
  row.size = *size;
  row.time = at("time");
  row.algbw = at("algBw");
  row.busbw = at("busBw");
  row.wrong = at("wrong").empty() ? at("#wrong") : at("wrong");
  Record* record = add_collective(draft, row, line);
  if (record == nullptr) {
    draft.warn(line, "its values are not numbers, skipped");
    return;
  }
  for (const char* key : {"numCycle", "nodes", "ranksPerNode", "gpusPerRank"}) {
    note(*record, key, at(key));
  }
}

class RcclReporterJson final : public Importer {
 public:
  std::string_view name() const override { return "rccl-tests-json"; }
  std::string_view summary() const override {
    return "JSON written by rccl-tests with -Z json: an array, or one object per line";
  }
  int recognises(const ImportText& input) const override {
    return looks_like_json(input.text) && contains(input.text, "\"busBw\"") &&
                   contains(input.text, "\"inPlace\"")
               ? 95
               : 0;
  }
  Result<Imported> import(const ImportText& input) const override {
    Draft draft(input, name(), "rccl-tests");
    for (const JsonDocument& document : TRY(parse_json_documents(input))) {
      const bool array = document.node.is_array();
      if (array && draft.run_has_records()) draft.next_run();
      const JsonNode* begin = array ? document.node.items.data() : &document.node;
      const std::size_t count = array ? document.node.items.size() : 1;
      for (std::size_t i = 0; i < count; ++i) {
        add_row(draft, document.line, [&](const char* key) { return begin[i].at(key); });
      }
    }
    return draft.finish();
  }
};

class RcclReporterCsv final : public Importer {
 public:
  std::string_view name() const override { return "rccl-tests-csv"; }
  std::string_view summary() const override { return "CSV written by rccl-tests with -Z csv"; }
  int recognises(const ImportText& input) const override {
    return !looks_like_json(input.text) && contains(input.text, "numCycle") &&
                   contains(input.text, "busBw")
               ? 95
               : 0;
  }
  Result<Imported> import(const ImportText& input) const override {
    Draft draft(input, name(), "rccl-tests");
    CsvReader csv(input.text, ',');
    CsvTable table;
    CsvRow row;
    while (csv.next(row)) {
      if (row.fields.front() == "numCycle") {
        if (draft.run_has_records()) draft.next_run();
        table = CsvTable(row.fields);
        continue;
      }
      if (table.size() == 0) continue;
      // With MPI, the header lacks `nodes`, which every row has after the name.
      if (row.fields.size() == table.size() + 1 && table.size() > 2 && !table.has("nodes")) {
        auto columns = table.columns();
        columns.insert(columns.begin() + 2, "nodes");
        table = CsvTable(std::move(columns));
      }
      if (row.fields.size() != table.size()) {
        draft.warn(row.line, fmt::format("{} values under {} names, skipped", row.fields.size(),
                                         table.size()));
        continue;
      }
      add_row(draft, row.line, [&](const char* key) { return table.at(row, key); });
    }
    return draft.finish();
  }
};

const RcclReporterJson json_importer;
const RcclReporterCsv csv_importer;
const ImporterRegistry::Add registered_json{&json_importer};
const ImporterRegistry::Add registered_csv{&csv_importer};

}  // namespace
}  // namespace assay::rccl_reporter_importer

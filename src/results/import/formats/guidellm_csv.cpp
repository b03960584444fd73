// guidellm's benchmarks.csv: one line of column names until version 0.3, three since 0.4.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/json_node.h"
#include "core/text.h"
#include "results/import/csv.h"
#include "results/import/record_builder.h"
#include "results/import/serving.h"
#include "results/import/text_lines.h"
#include "results/record/measured_unit.h"

namespace assay::guidellm_csv_importer {
namespace {

struct Distribution {
  std::string_view old_title;  ///< between "Successful " and the statistic
  std::string_view group;      ///< since version 0.4: the first line's, with the second line's
  std::string_view field;
  std::string_view name;
  double factor;
  std::string_view unit;
  Better better;
};
constexpr std::array<Distribution, 10> distributions = {{
    {"Output tokens per second", "Token Throughput", "Output Tokens/Sec", "output_throughput", 1,
     "tokens/s", Better::higher},
    {"Requests per second", "Server Throughput", "Requests/Sec", "request_throughput", 1, "1/s",
     Better::higher},
    {"Tokens per second", "Token Throughput", "Total Tokens/Sec", "total_token_throughput", 1,
     "tokens/s", Better::higher},
    {"Request concurrency", "Server Throughput", "Concurrency", "concurrency", 1, "1",
     Better::neither},
    {"Time to first token ms", "Time to First Token", "ms", "ttft", 1e-3, "s", Better::lower},
    {"Inter token latency ms", "Inter Token Latency", "ms", "itl", 1e-3, "s", Better::lower},
    {"Time per output token ms", "Time per Output Token", "ms", "tpot", 1e-3, "s", Better::lower},
    {"Request latency", "Request Latency", "Sec", "e2el", 1, "s", Better::lower},
    {"Prompt token count", "Token Metrics", "Input Tokens", "prompt_tokens", 1, "1",
     Better::neither},
    {"Output token count", "Token Metrics", "Output Tokens", "output_tokens", 1, "1",
     Better::neither},
}};

/// The columns of both layouts under the names of the older one, "Successful Request latency mean".
std::vector<std::string> names_of(const std::vector<CsvRow>& header) {
  if (header.size() < 3) return header.front().fields;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < header[0].fields.size(); ++i) {
    const auto at = [&](std::size_t line) {
      const auto& fields = header[line].fields;
      return i < fields.size() ? std::string_view(fields[i]) : std::string_view();
    };
    std::string name = fmt::format("{}/{}/{}", at(0), at(1), at(2));
    constexpr std::string_view successful = "Successful ";
    for (const Distribution& kind : distributions) {
      if (at(0) != kind.group || !at(1).starts_with(successful) ||
          at(1).substr(successful.size()) != kind.field) {
        continue;
      }
      name = fmt::format("{}{} {}", successful, kind.old_title, lower_case(at(2)));
    }
    names.push_back(std::move(name));
  }
  return names;
}

/// Element `index` of "[0.1, 0.2, ...]".
std::string_view element(std::string_view list, std::size_t index) {
  if (!list.starts_with('[') || !list.ends_with(']')) return {};
  const auto parts = split_at(list.substr(1, list.size() - 2), ',');
  return index < parts.size() ? parts[index] : std::string_view();
}

/// The text of a member of an object in a cell; empty if there is none.
std::string json_member(std::string_view json, std::string_view key) {
  const auto object = JsonValues(json).read({.values = 10'000});
  return object.ok() ? std::string(object.value().at(key)) : std::string();
}

class GuidellmCsv final : public Importer {
 public:
  std::string_view name() const override { return "guidellm-csv"; }
  std::string_view summary() const override { return "guidellm's benchmarks.csv"; }
  int recognises(const ImportText& input) const override {
    const bool older = contains(input.text, "Successful Requests per second mean");
    const bool newer =
        contains(input.text, "Run Info,") && contains(input.text, "Successful Output Tokens/Sec");
    return older || newer ? 90 : 0;
  }
  Result<Imported> import(const ImportText& input) const override {
    Draft draft(input, name(), "guidellm");
    CsvReader csv(input.text, ',');
    CsvTable table;
    std::vector<CsvRow> header;
    CsvRow row;
    draft.next_run();
    while (csv.next(row)) {
      const bool first = row.fields.front() == "Type" || row.fields.front() == "Run Info";
      if (first || (!header.empty() && header.size() < lines_of(header.front()))) {
        if (first) header.clear();
        header.push_back(row);
        if (header.size() == lines_of(header.front())) table = CsvTable(names_of(header));
      } else if (table.size() > 0) {
        add(draft, table, row);
      }
    }
    return draft.finish();
  }

 private:
  static std::size_t lines_of(const CsvRow& first) {
    return first.fields.front() == "Type" ? 1 : 3;
  }

  static void add(Draft& draft, const CsvTable& table, const CsvRow& row) {
    if (row.fields.size() != table.size()) {
      draft.warn(row.line, "not a row of the table, skipped");
      return;
    }
    const auto at = [&](std::string_view column) { return table.at(row, column); };
    std::vector<std::pair<std::string, std::string>> axes;
    if (table.has("Name")) {  // "constant@5.00", "concurrent@8", "synchronous"
      const auto parts = split_at(at("Name"), '@');
      const std::string_view load = parts.size() > 1 ? parts[1] : std::string_view();
      const bool streams = parts[0] == "concurrent";
      axes = {{"strategy", std::string(parts[0])},
              {"request_rate", rate_text(streams ? "" : load)},
              {"max_concurrency", rate_text(streams ? load : "")}};
    } else {
      // The rate is not told: a sweep's runs differ in their number alone.
      axes = {{"strategy", std::string(at("Benchmark/Strategy/"))},
              {"run_index", std::string(at("Run Info/Run Index/"))}};
    }
    Record& record = draft.add(Cell("serving", std::move(axes)), row.line);
    const auto put = [&](const Distribution& kind, std::string_view text, const std::string& name) {
      if (const auto value = parse_number(text)) {
        record.metrics.push_back(
            metric(name, to_si(*value, kind.factor), kind.unit, kind.better, text));
      }
    };
    for (const Distribution& kind : distributions) {
      const std::string title = fmt::format("Successful {} ", kind.old_title);
      if (kind.unit != "s") {
        put(kind, at(title + "mean"), std::string(kind.name));
        continue;
      }
      put(kind, at(title + "mean"), fmt::format("mean_{}", kind.name));
      put(kind, at(title + "median"), fmt::format("median_{}", kind.name));
      put(kind, at(title + "std dev"), fmt::format("std_{}", kind.name));
      std::string_view list = at(title + "percentiles");
      if (list.empty()) list = at(title + "[min, 0.1, 1, 5, 10, 25, 75, 90, 95, 99, max]");
      put(kind, element(list, 7), fmt::format("p90_{}", kind.name));
      put(kind, element(list, 8), fmt::format("p95_{}", kind.name));
      put(kind, element(list, 9), fmt::format("p99_{}", kind.name));
    }
    for (const char* column : {"Start Time", "Timings/Start Time/"}) {
      if (!at(column).empty()) record.time = at(column);
    }
    note(record, "model_id", json_member(at("Run Info/Backend/"), "model"));
    draft.run().version = json_member(at("Runtime Info/Metadata/"), "guidellm_version");
    judge(record, table, row);
  }

  static void judge(Record& record, const CsvTable& table, const CsvRow& row) {
    const auto count = [&](std::string_view status, std::string_view name) {
      std::string_view text = table.at(row, fmt::format("{} Requests", status));
      if (text.empty()) text = table.at(row, fmt::format("Request Counts/{}/", status));
      const auto value = parse_number(text);
      if (value) record.metrics.push_back(metric(name, *value, "1", Better::neither, text));
      return value;
    };
    const auto good = count("Successful", "completed"), bad = count("Errored", "failed");
    count("Incomplete", "incomplete");
    if (good && (*good == 0 || bad.value_or(0) > *good)) {
      record.status = RecordStatus::failed;
      record.reason =
          fmt::format("{:.0f} requests succeeded, {:.0f} failed", *good, bad.value_or(0));
    }
  }
};

const GuidellmCsv importer;
const ImporterRegistry::Add registered{&importer};

}  // namespace
}  // namespace assay::guidellm_csv_importer

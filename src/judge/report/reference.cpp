#include "judge/report/reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/embedded.h"
#include "core/text.h"
#include "core/yaml_text.h"
#include "results/record/measured_unit.h"

namespace assay::report {
namespace {

/// A column of a table: the device, an axis, or a metric.
struct Heading {
  std::string name;
  std::string written;  ///< its unit in the file; empty: not a metric
  MeasuredUnit unit;
  Better better = Better::neither;
};

Better direction_of(std::string_view unit) {
  if (unit == "s") return Better::lower;
  return unit.ends_with("/s") ? Better::higher : Better::neither;
}

/// The date as records have times; the first day of a month without a day.
std::string time_of(const std::string& date) {
  if (date == "undated") return {};
  return date + (date.size() == 7 ? "-01" : "") + "T00:00:00Z";
}

class ReferenceReader {
 public:
  explicit ReferenceReader(std::string_view file) : file_(file) {}

  Result<Reference> read(const YamlValue& root) {
    const YamlReader map = TRY(YamlReader::of(
        root, file_, "a reference is a map with name, who, date, source, device and tables",
        {"name", "who", "date", "source", "device", "tables"}));
    reference_.name = TRY(map.text("name"));
    reference_.who = TRY(map.text("who"));
    reference_.date = TRY(map.text("date"));
    if (!is_date_of_source(reference_.date)) {
      return map.wrong("date", fmt::format("bad date \"{}\"; allowed: 2026-08-03, 2026-08, undated",
                                           reference_.date));
    }
    reference_.source = TRY(map.text("source"));
    device_ = TRY(map.text("device"));
    const YamlValue* tables = map.find("tables");
    if (tables == nullptr || tables->kind != YamlValue::Kind::list || tables->items.empty()) {
      return map.wrong("tables", "\"tables\" must be a list of {title, program, benchmark, ...}");
    }
    for (const YamlValue& table : tables->items) TRY(add_table(table));
    return std::move(reference_);
  }

 private:
  Status add_table(const YamlValue& value) {
    const YamlReader map = TRY(YamlReader::of(
        value, file_, "a table is a map with title, program, benchmark, axes, columns and rows",
        {"title", "program", "benchmark", "axes", "columns", "rows"}));
    Record common;
    common.run = reference_.name;
    common.time = time_of(reference_.date);
    common.device.backend = foreign_backend;
    common.device.name = device_;
    common.status = RecordStatus::passed;
    common.source = Source{.tool = fmt::format("{}, reported by {}, {}", TRY(map.text("program")),
                                               reference_.who, reference_.date),
                           .version = {},
                           .file = TRY(map.text("title")),
                           .line = 0};
    common.cell = Cell(TRY(map.text("benchmark")), {});
    std::vector<std::pair<std::string, std::string>> axes;
    TRY(map.optional("axes", axes));
    const std::vector<Heading> headings = TRY(headings_of(map));
    const YamlValue* rows = map.find("rows");
    if (rows == nullptr || rows->kind != YamlValue::Kind::list || rows->items.empty()) {
      return map.wrong("rows", "\"rows\" must be a list of lists, one value for each column");
    }
    for (const YamlValue& row : rows->items) TRY(add_row(map, row, headings, axes, common));
    return {};
  }

  static Result<std::vector<Heading>> headings_of(const YamlReader& map) {
    std::vector<Heading> headings;
    for (const std::string& text : TRY(map.texts("columns"))) {
      Heading heading;
      const std::size_t open = text.find(" ("), close = text.find(')');
      heading.name = text.substr(0, open);
      if (open != std::string::npos) {
        if (close == std::string::npos) return map.wrong("columns", "a unit needs \")\"");
        heading.written = text.substr(open + 2, close - open - 2);
        const auto unit = written_unit(heading.written);
        if (!unit.ok()) return map.wrong("columns", unit.error().message);
        heading.unit = *unit;
        const std::string rest = text.substr(close + 1);
        if (!rest.empty() && rest != " aside") {
          return map.wrong("columns", fmt::format("\"{}\" after a unit; allowed: aside", rest));
        }
        if (rest.empty()) heading.better = direction_of(unit->si);
      }
      headings.push_back(std::move(heading));
    }
    return headings;
  }

  Status add_row(const YamlReader& map, const YamlValue& row, const std::vector<Heading>& headings,
                 std::vector<std::pair<std::string, std::string>> axes, Record record) {
    if (row.kind != YamlValue::Kind::list || row.items.size() != headings.size()) {
      return map.wrong(row, fmt::format("a row needs {} values", headings.size()));
    }
    for (std::size_t i = 0; i < headings.size(); ++i) {
      const Heading& heading = headings[i];
      const std::string& text = row.items[i].text;
      if (text == "-") continue;
      if (heading.name == "device") {
        record.device.name = text;
      } else if (heading.written.empty()) {
        axes.emplace_back(heading.name, text);
      } else {
        const auto value = parse_number(text);
        if (!value || *value <= 0) {
          return map.wrong(row.items[i],
                           fmt::format("\"{}\" must be a number above 0, or -", text));
        }
        record.metrics.push_back({heading.name, to_si(*value, heading.unit.factor),
                                  std::string(heading.unit.si), heading.better,
                                  fmt::format("{} {}", text, heading.written)});
      }
    }
    record.cell = Cell(record.cell.benchmark(), std::move(axes));
    for (const Metric& metric : record.metrics) {
      const std::string what =
          fmt::format("{}: {} {}", record.device.name, record.cell.id(), metric.name);
      if (seen_.insert(what).second) continue;
      return map.wrong(row, what + " is given twice; add an axis that tells them apart");
    }
    reference_.records.push_back(std::move(record));
    return {};
  }

  std::string file_, device_;
  std::set<std::string> seen_;  ///< device, cell and metric of each figure
  Reference reference_;
};

}  // namespace

std::string Reference::label(const std::string& device) const {
  return fmt::format("{}, {} (reported by {}, {})", name, device, who, date);
}

std::vector<Record> Reference::of_device(const std::string& device) const {
  std::vector<Record> selected;
  for (const Record& record : records) {
    if (record.device.name == device) selected.push_back(record);
  }
  return selected;
}

std::set<std::string> Reference::devices() const {
  std::set<std::string> names;
  for (const Record& record : records) names.insert(record.device.name);
  return names;
}

std::size_t Reference::figures() const {
  std::size_t count = 0;
  for (const Record& record : records) count += record.metrics.size();
  return count;
}

Result<Reference> parse_reference(std::string_view yaml, std::string_view file) {
  return ReferenceReader(file).read(TRY(parse_yaml(yaml, file)));
}

Result<std::vector<Reference>> built_in_references() {
  std::vector<Reference> references;
  for (const EmbeddedFile& file : embedded_references()) {
    references.push_back(TRY(parse_reference(file.text, file.name)));
  }
  std::ranges::sort(references, {}, &Reference::name);
  return references;
}

}  // namespace assay::report

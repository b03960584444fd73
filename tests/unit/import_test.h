// What tests of importers share.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "results/import/importer.h"

namespace assay {

/// The text imported, recognised by content; a failure of the test if it is not.
inline Imported imported(std::string_view text, std::string_view name = "file.txt") {
  auto result = import_text({text, name}, "");
  EXPECT_TRUE(result.ok()) << result.error().message;
  return result.ok() ? std::move(*result) : Imported{};
}

inline std::vector<std::string> cells_of(const Imported& imported) {
  std::vector<std::string> cells;
  for (const Record& record : imported.records) cells.push_back(record.cell.id());
  return cells;
}

/// The record of this cell; a failure of the test if there is none.
inline const Record& record_of(const Imported& imported, std::string_view cell) {
  static const Record none;
  std::string cells;
  for (const Record& record : imported.records) {
    if (record.cell.id() == cell) return record;
    cells += "\n" + record.cell.id();
  }
  ADD_FAILURE() << "no cell " << cell << " among" << cells;
  return none;
}

/// The record's metric; a failure of the test if it has none of that name.
inline const Metric& metric_of(const Record& record, std::string_view name) {
  static const Metric none;
  for (const Metric& metric : record.metrics) {
    if (metric.name == name) return metric;
  }
  ADD_FAILURE() << record.cell.id() << " has no metric " << name;
  return none;
}
inline double value_of(const Imported& imported, std::string_view cell, std::string_view name) {
  return metric_of(record_of(imported, cell), name).value;
}

inline std::string note_of(const Record& record, std::string_view key) {
  for (const auto& [name, text] : record.notes) {
    if (name == key) return text;
  }
  return {};
}

}  // namespace assay

// Formats a report's numbers for readers. page/data.js does the same for what the browser draws.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "judge/report/document.h"

namespace assay::report {

struct Display {
  double factor = 1;
  std::string unit;
};
/// Returns how to show numbers in `unit` up to `largest`: ("bytes/s", 812e9) gives 1e9, "GB/s".
Display display_for(std::string_view unit, double largest);

/// Sets factor and shown_unit of every number column from the largest value in all columns with the
/// same unit, because readers compare these columns.
void scale_columns(Table& table);

/// Returns "812.3", "1GiB", "+1.80%", "41 times", "812.3 GB/s"; empty for an empty field. `row`
/// belongs to the table.
std::string text_of(const Table& table, const std::vector<Field>& row, std::size_t column);
/// Returns whether its fields are numbers, aligned on the right.
bool is_numeric(ColumnKind kind);
/// Formats a value with its unit: "812.3 GB/s".
std::string quantity_text(double value, std::string_view unit);
/// Returns "bandwidth (GB/s)"; sizes and changes carry their unit in every field instead.
std::string heading_of(const Column& column);
/// Returns text that reads back as exactly the same number.
std::string exact_text(const Field& field);

/// If there is any fault, adds a column with the reasons why rows are void, one entry (possibly
/// empty) per row. Charts draw these rows hollow. Returns a sentence about them: " 2 values are
/// void and drawn hollow."
std::string add_faults(Table& table, const std::vector<std::string>& faults);

/// Returns a metric's name in words: "mean TTFT" for "mean_ttft".
std::string metric_words(std::string metric);

/// Returns a number with its noun in singular or plural: "4 cells", "1 cell".
std::string counted(std::size_t n, std::string_view noun);

}  // namespace assay::report

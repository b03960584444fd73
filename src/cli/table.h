// Aligned text tables that fit a terminal without losing anything. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "cli/screen_text.h"
#include "cli/terminal.h"

namespace assay::cli {

/// Left-aligned columns are text, which may be wrapped; right-aligned ones are numbers.
struct Column {
  enum class Align { left, right };
  std::string title;
  Align align = Align::left;
  /// Above 0: the column may be moved below its row if the table is too wide, the lowest importance
  /// first. 0: it stays beside the others as long as possible.
  int importance = 0;
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  /// `row` must have one text per column.
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  bool empty() const { return rows_.empty(); }
  /// Two spaces between columns, `indent` before them; `width` 0 means unlimited. Optional columns
  /// are dropped if they are empty. Columns that do not fit in `width` are shown below their row
  /// with their title, or once above the table if all rows have the same text. Text that is still
  /// too wide is wrapped.
  std::string render(std::size_t width, const Style& style, std::size_t indent = 2) const;

 private:
  struct Layout;

  std::size_t content_width(std::size_t column) const;
  Layout fit(std::size_t width, std::size_t indent) const;
  std::string row_text(const std::vector<std::string>& row, const Layout& layout,
                       std::size_t indent) const;
  std::string text_below(const std::vector<std::string>& row, const Layout& layout,
                         std::size_t width, std::size_t indent, const Style& style) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace assay::cli

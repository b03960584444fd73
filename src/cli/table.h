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
  /// 0: a required column. Above 0: an optional column, which is left out if it has no text; if the
  /// table is too wide, its values move below the rows, the lowest importance first. Required
  /// columns move last.
  int importance = 0;
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  /// `row` must have one text per column.
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  bool empty() const { return rows_.empty(); }
  /// Returns the table with a heading line. Columns have two spaces between them, and lines begin
  /// with `indent` spaces. `width` is in characters of the screen; 0: unlimited. If the table is
  /// wider, text columns are wrapped, down to 30 characters. If that is not enough, optional
  /// columns move below their rows, each with its title; a moved column with the same text in all
  /// of several rows is shown once above the table. At last, text is wrapped down to 12 characters,
  /// and required columns move, too, but for the first.
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

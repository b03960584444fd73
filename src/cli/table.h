// Aligned text tables that fit a terminal. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/terminal.h"

namespace assay::cli {

/// Columns `text` takes on screen: counts UTF-8 characters, not colour codes.
std::size_t display_width(std::string_view text);
/// Shortens to at most `width` columns by replacing the end with "..."; colours are dropped then.
std::string shorten(std::string_view text, std::size_t width);

struct Column {
  enum class Align { left, right };
  std::string title;
  Align align = Align::left;
  int importance = 0;  ///< 0: always shown; else the lower it is, the sooner the column goes
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  /// `row` must have one text per column.
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  bool empty() const { return rows_.empty(); }
  /// Two spaces between columns, `indent` before them; `width` 0 means unlimited. Optional columns
  /// are dropped if they are empty or do not fit in `width`; then the first column is shortened.
  std::string render(std::size_t width, const Style& style, std::size_t indent = 2) const;

 private:
  std::vector<std::size_t> widths(const std::vector<bool>& shown) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace assay::cli

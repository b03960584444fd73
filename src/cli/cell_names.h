// The names of a table's cells, without what all of them share. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "cli/terminal.h"

namespace assay::cli {

struct CellNames {
  /// What is left out of the names, by benchmark: "memory dtype=f64 cache=hot".
  std::vector<std::string> common;
  std::vector<std::string> names;  ///< "op=copy size=4KiB", in the order of the cells

  /// Lines to stand above the table; empty if nothing is common.
  std::string heading(std::size_t width, std::size_t indent = 2) const;
};

/// `cells` are texts as Cell::id() makes them. Cells of several benchmarks begin with its name, and
/// so do those of one that are all the same. The only cell of a benchmark keeps its full name while
/// that leaves room for the table's other columns.
CellNames cell_names(const std::vector<std::string>& cells);

/// Of rows, of which `cell_of` gives each one's cell.
template <typename Rows, typename CellOf>
CellNames cell_names(const Rows& rows, CellOf cell_of) {
  std::vector<std::string> cells;
  for (const auto& row : rows) cells.push_back(cell_of(row));
  return cell_names(cells);
}

}  // namespace assay::cli

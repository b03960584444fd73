// The names of a table's cells, without what all of them share. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "results/record/cell.h"

namespace assay::report {

struct CellNames {
  /// What is left out of the names, by benchmark: "memory dtype=f64 cache=hot".
  std::vector<std::string> common;
  std::vector<std::string> names;  ///< "op=copy size=4KiB", in the order of the cells

  /// Returns `common` as lines to stand above the table: "all cells: memory dtype=f64".
  std::vector<std::string> heading() const;
};

/// Returns the names for a table of `cells`, texts as Cell::id() makes them. Names begin with the
/// benchmark if there are several benchmarks, or if all cells of the only one are equal. The only
/// cell of a benchmark keeps its full name if that has at most 48 characters.
CellNames cell_names(const std::vector<std::string>& cells);

/// Returns the names for the cells of `rows`; `cell_of(row)` returns the text of a row's cell.
template <typename Rows, typename CellOf>
CellNames cell_names(const Rows& rows, CellOf cell_of) {
  std::vector<std::string> cells;
  for (const auto& row : rows) cells.push_back(cell_of(row));
  return cell_names(cells);
}

/// Returns each cell's benchmark with the axes that vary among the benchmark's cells or are
/// `given`, such as "memory size=4KiB". Unlike cell_names(), it needs no heading: what it leaves
/// out is the same for all cells of the benchmark.
std::vector<std::string> varying_names(const std::vector<const Cell*>& cells,
                                       const std::vector<std::string>& given = {});

}  // namespace assay::report

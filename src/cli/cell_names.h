// What all cells of a table share, above the table on a terminal.
#pragma once

#include <string>
#include <vector>

#include "judge/report/cell_names.h"

namespace assay::cli {

using report::cell_names;
using report::CellNames;
using report::varying_names;

/// Returns the lines wrapped to `width` columns (0: unlimited), each with a line end.
std::string heading_text(const std::vector<std::string>& lines, std::size_t width,
                         std::size_t indent = 2);
inline std::string heading_text(const CellNames& names, std::size_t width, std::size_t indent = 2) {
  return heading_text(names.heading(), width, indent);
}

}  // namespace assay::cli

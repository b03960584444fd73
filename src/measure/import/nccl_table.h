// The table that nccl-tests and rccl-tests print, read by the names in its header: columns came,
// went and moved from version to version.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "measure/import/text_lines.h"

namespace assay {

/// The line without what srun --label, mpirun --tag-output and a missing line end put into it.
/// `buffer` holds the result if anything had to be cut out of its middle.
std::string_view without_tags(std::string_view line, std::string& buffer);

struct NcclColumn {
  std::string name;  ///< "size", "redop", "busbw", "#wrong", ...
  int half = 0;      ///< 0: of the row; 1, 2: of its first, second half
};

/// The columns of a header line; empty if the line is none.
std::vector<NcclColumn> nccl_header(std::string_view line);
/// Whether the line looks like a row: size, count and type.
bool is_nccl_row(std::string_view line);

/// A row's words by column.
struct NcclRow {
  std::vector<NcclColumn> columns;
  std::vector<std::string_view> words;  ///< as many as columns, or fewer if the row is cut
  int halves = 0;                       ///< that are whole
  int cut_halves = 0;                   ///< that begin and are not whole

  /// Empty if there is no such column.
  std::string_view text(std::string_view name, int half = 0) const;
};

/// `columns` of the header, or empty to tell them from the words alone. Empty if it is no row.
std::optional<NcclRow> nccl_row(std::string_view line, const std::vector<NcclColumn>& columns);

}  // namespace assay

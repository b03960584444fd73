// The table that nccl-tests and rccl-tests print, read by the names in its header: columns were
// added, removed and moved between versions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "results/import/text_lines.h"

namespace assay {

/// The line without text added by srun --label, mpirun --tag-output or a missing newline. `buffer`
/// stores the result if something was removed from the middle.
std::string_view without_tags(std::string_view line, std::string& buffer);

struct NcclColumn {
  std::string name;  ///< "size", "redop", "busbw", "#wrong", ...
  int half = 0;      ///< 0: the whole row; 1, 2: its first, second half
};

/// The columns of a header line; empty if it is not one.
std::vector<NcclColumn> nccl_header(std::string_view line);
/// Whether the line looks like a row: size, count and type.
bool is_nccl_row(std::string_view line);

/// The words of a row, by column.
struct NcclRow {
  std::vector<NcclColumn> columns;
  std::vector<std::string_view> words;  ///< one per column, or fewer if the row is truncated
  int halves = 0;                       ///< complete halves
  int cut_halves = 0;                   ///< halves that begin but are not complete

  /// Empty if there is no such column.
  std::string_view text(std::string_view name, int half = 0) const;
};

/// `columns`: from the header, or empty to guess them from the words. Nullopt if it is not a row.
std::optional<NcclRow> nccl_row(std::string_view line, const std::vector<NcclColumn>& columns);

}  // namespace assay

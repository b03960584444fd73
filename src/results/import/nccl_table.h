// Reads the table that nccl-tests and rccl-tests print, by the names in its header: columns were
// added, removed and moved between versions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "results/import/text_lines.h"

namespace assay {

/// Removes what srun --label, mpirun --tag-output or, for lack of a newline, librccl wrote into the
/// line. The result is in `buffer` if something was removed from the middle.
std::string_view without_tags(std::string_view line, std::string& buffer);

/// A column of the table: of the whole row, or of one of its halves.
struct NcclColumn {
  std::string name;  ///< "size", "redop", "busbw", "#wrong", ...
  int half = 0;      ///< 0: of the whole row; 1: out of place; 2: in place
};

/// Returns the columns of a header line; empty if it is not one.
std::vector<NcclColumn> nccl_header(std::string_view line);
/// Returns whether the line looks like a row: size, count, type and more, after a timestamp or not.
bool is_nccl_row(std::string_view line);

/// The words of a row, by column.
struct NcclRow {
  std::vector<NcclColumn> columns;
  std::vector<std::string_view> words;  ///< one per column, or fewer if the row is truncated
  int halves = 0;                       ///< number of complete halves
  int cut_halves = 0;                   ///< number of incomplete halves

  /// Returns an empty text if there is no such column.
  std::string_view text(std::string_view name, int half = 0) const;
};

/// `columns` come from the header, or are empty to guess them from the words. Returns nullopt if
/// the line is not a row or its words do not fit the columns.
std::optional<NcclRow> nccl_row(std::string_view line, const std::vector<NcclColumn>& columns);

}  // namespace assay

// The files that override hipBLASLt's choice of solutions (HIPBLASLT_TUNING_OVERRIDE_FILE). Each
// row names the solution for one GEMM. There are three generations of readers:
//   ten    ten columns without a header, of the first releases
//   bench  37 columns at fixed places, as hipblaslt-bench of ROCm 6.4 and 7 writes its winner; they
//          count only if the line "Git Version: " is the library's
//   named  a header before each row, whose columns are found by name; rows with the name of a
//          kernel or solution are checked by it, others by the line "Git Version: "
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "advise/tune/gemm/blas_call.h"
#include "advise/tune/gemm/tunable_op.h"
#include "core/result.h"

namespace assay {

enum class OverrideFormat { ten, bench, named };
/// Parses "ten", "bench" or "named".
std::optional<OverrideFormat> parse_override_format(std::string_view name);

/// A line of a file of solutions for hipBLASLt.
struct OverrideRow {
  /// All columns with their values, in the file's order.
  std::vector<std::pair<std::string, std::string>> columns;
  /// Whether the column names come from a header in the file; otherwise they follow from the number
  /// of values.
  bool has_header = true;

  bool operator==(const OverrideRow&) const = default;
  /// Returns the value of a column; empty if there is no such column.
  std::string_view at(std::string_view column) const;
  /// Returns the GEMM that the row is for. Error: usage, naming the column that is missing or
  /// damaged; unsupported for an activation that assay lacks.
  Result<BlasCall> call() const;
  /// Returns the column "solution_index"; nullopt if it is missing or damaged.
  std::optional<std::int64_t> solution_index() const;
};

/// A file of solutions for hipBLASLt.
struct OverrideFile {
  std::string git_version;  ///< empty if there is no such line
  std::vector<OverrideRow> rows;
  std::vector<IgnoredLine> ignored;
};

/// Parses a file of any of the three formats. Lines that no reader takes are in `ignored`.
OverrideFile parse_override(std::string_view text);
/// Returns the text of a file; each row that had a header gets its header again.
std::string text_of(const OverrideFile& file);

/// The solution to write into a row, and what is known about it.
struct OverrideWinner {
  BlasCall call;
  std::int64_t index = 0;
  std::string solution_name, kernel_name;  ///< empty: unknown
  double seconds = 0;                      ///< time of one GEMM
  std::uint64_t rotating_bytes = 0;        ///< operands in rotation while it was timed
  std::string arch;                        ///< "gfx942:sramecc+:xnack-"
  int multiprocessors = 0;
};
/// Makes the row for a winner; `ten` leaves out leading dimensions, strides, factors, bias and
/// activation. Error: unsupported if the format cannot express the rest of this GEMM or its
/// solution.
Result<OverrideRow> override_row(const OverrideWinner& winner, OverrideFormat format);

/// What hipBLASLt on a machine compares with the rows of an override file.
struct OverrideFacts {
  std::string git_version;
  std::string arch;
  int multiprocessors = 0;
};
/// Returns why the library would ignore the row; empty if it uses the row, provided that it still
/// has the solution.
std::string misfit(const OverrideFile& file, const OverrideRow& row, const OverrideFacts& here);

}  // namespace assay

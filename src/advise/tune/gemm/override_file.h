// The files with which hipBLASLt's own choice is overridden (HIPBLASLT_TUNING_OVERRIDE_FILE). Each
// row says for one product which solution to take. There are three generations of readers:
//   ten    ten columns without a header, of the first releases
//   bench  37 columns at fixed places, as hipblaslt-bench of ROCm 6.4 and 7 writes its winner; they
//          count only if the line "Git Version: " is the library's
//   named  a header before each row, whose columns are found by name; rows with a kernel's name are
//          checked by it, others by the line "Git Version: "
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
/// "ten", "bench", "named".
std::optional<OverrideFormat> parse_override_format(std::string_view name);

struct OverrideRow {
  /// All columns with their values, in the file's order.
  std::vector<std::pair<std::string, std::string>> columns;
  /// Whether the file gave the columns' names; else the number of values did.
  bool has_header = true;

  bool operator==(const OverrideRow&) const = default;
  /// Empty if there is no such column.
  std::string_view at(std::string_view column) const;
  /// Error: usage, naming the column, if it is missing or damaged.
  Result<BlasCall> call() const;
  std::optional<std::int64_t> solution_index() const;
};

struct OverrideFile {
  std::string git_version;  ///< empty: there is no such line
  std::vector<OverrideRow> rows;
  std::vector<IgnoredLine> ignored;
};

/// Reads all three.
OverrideFile parse_override(std::string_view text);
/// As the file was: rows with a header have it before them.
std::string text_of(const OverrideFile& file);

/// What is known about a winner.
struct OverrideWinner {
  BlasCall call;
  std::int64_t index = 0;
  std::string solution_name, kernel_name;  ///< empty: unknown
  double seconds = 0;
  std::uint64_t rotating_bytes = 0;
  std::string arch;  ///< "gfx942:sramecc+:xnack-"
  int multiprocessors = 0;
};
/// Error: unsupported, if the format cannot tell this product from another, or has no place for it.
Result<OverrideRow> override_row(const OverrideWinner& winner, OverrideFormat format);

/// What the library of a machine compares rows with.
struct OverrideMachine {
  std::string git_version;
  std::string arch;
  int multiprocessors = 0;
};
/// Why the library would pass over the row; empty: it takes it, if it still has the solution.
std::string misfit(const OverrideFile& file, const OverrideRow& row, const OverrideMachine& here);

}  // namespace assay

// The cells of the gemm benchmark: its axes, and the parsed form of a cell.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compute/vendor/blas/blas.h"
#include "compute/vendor/blas/matrix_fill.h"
#include "measure/grid/axis.h"
#include "results/record/cell.h"
#include "results/record/device_facts.h"

namespace assay {

/// D[m,n] = A[m,k] B[k,n], `batch` times.
struct GemmCell {
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  DataType dtype{};  ///< that of A, and of B but for e5m2, where B is e4m3
  /// One, or all four for layout=any, as BLAS libraries name them, which see columns where assay
  /// sees rows: "TN" has B transposed in memory, "NT" has A transposed.
  std::vector<std::string> layouts;
  Epilogue epilogue = Epilogue::none;
  std::string library;  ///< "auto" or a name
  Inputs inputs = Inputs::normal;
  std::int64_t pad = 0;            ///< elements added to each row in memory
  std::uint64_t rotate_bytes = 0;  ///< least bytes of all sets of operands together; 0: one set
  int chain = 1;                   ///< GEMMs queued back to back per sample
  bool best = false;  ///< measures the library's candidates instead of taking its own choice
  bool fast_accumulate = false;  ///< fp8 sums stay in the matrix unit's reduced precision
};

const std::vector<Axis>& gemm_axes();
/// Parses a cell whose values the axes have checked.
GemmCell parse_gemm_cell(const Cell& cell);

/// The GEMM of this cell in one of its layouts.
GemmProblem problem_of(const GemmCell& cell, std::string_view layout);
/// The largest magnitude of an element of A, B and bias; infinity if they are not integers.
double largest_input(const GemmCell& cell);
/// Bytes of one set of operands: A, B, D and the aux matrix of an epilogue, but not its bias.
std::uint64_t operand_bytes(const GemmProblem& problem);
/// Number of operand sets in rotation, at least 2; 1: no rotation.
std::size_t operand_sets(const GemmCell& cell, const GemmProblem& problem);

/// Returns why the cell cannot be measured: its values do not fit together, its operands exceed the
/// device's memory, or no library of the backend computes it. Empty if none of that is known; it is
/// decided without loading a library.
std::optional<std::string> gemm_unsupported(const GemmCell& cell, const DeviceFacts& facts);

}  // namespace assay

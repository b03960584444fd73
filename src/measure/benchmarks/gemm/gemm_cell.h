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

struct GemmCell {
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  DataType dtype{};
  std::vector<std::string> layouts;  ///< one, or all four for layout=any
  Epilogue epilogue = Epilogue::none;
  std::string library;  ///< "auto" or a name
  Inputs inputs = Inputs::normal;
  std::int64_t pad = 0;
  std::uint64_t rotate_bytes = 0;
  int chain = 1;  ///< GEMMs queued back to back per sample
  bool best = false;
  bool fast_accumulate = false;
};

const std::vector<Axis>& gemm_axes();
GemmCell parse_gemm_cell(const Cell& cell);

/// The GEMM of this cell in one of its layouts.
GemmProblem problem_of(const GemmCell& cell, std::string_view layout);
/// The largest magnitude of an element of A, B and bias; infinity if they are not integers.
double largest_input(const GemmCell& cell);
/// Bytes of one set of operands.
std::uint64_t operand_bytes(const GemmProblem& problem);
/// Number of operand sets in rotation; 1: no rotation.
std::size_t operand_sets(const GemmCell& cell, const GemmProblem& problem);

/// Returns why no library of this device's backend can compute the cell; empty if one can. Decided
/// without loading a library.
std::optional<std::string> gemm_unsupported(const GemmCell& cell, const DeviceFacts& facts);

}  // namespace assay

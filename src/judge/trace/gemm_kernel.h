// Finds the GEMMs of a trace: tile and types by the kernel's name, and the problem by the
// shapes of its operation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/data_type.h"

namespace assay {

/// What the name of a GEMM kernel says. Fields that it does not say are empty or 0.
struct GemmKernel {
  std::string library;           ///< "Tensile", "nvjet", "xmma", "cutlass", "cuBLAS"
  unsigned m = 0, n = 0, k = 0;  ///< of the tile that a workgroup computes
  std::string types;             ///< that of the products: "bf16", "tf32"
  std::string transposes;        ///< "TN", as BLAS libraries name them, column by column
};

/// Returns the type in which products of this type store their result.
DataType result_type(DataType math);

/// Empty if the name is that of no library whose names are known.
std::optional<GemmKernel> parse_gemm_kernel(std::string_view name);

/// out[M,N] = A[M,K] @ B[K,N], `batch` times.
struct GemmProblem2D {
  std::uint64_t m = 0, n = 0, k = 0, batch = 1;
  std::string type;  ///< "bf16", as axes name it; empty: unknown
  double flops() const {
    return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) *
           static_cast<double>(batch);
  }
  auto operator<=>(const GemmProblem2D&) const = default;
};

/// Returns the bytes of A, B and the result.
double bytes_of(const GemmProblem2D& problem, DataType math);

/// The operation of a kernel that itself has the shapes of its product, as in assay's own traces.
inline constexpr std::string_view own_product = "gemm";

/// Returns the product that PyTorch's operation computes, such as "aten::addmm" with the shapes
/// "[[4],[2,3],[3,4]]" and types "[float,float,float]", or own_product with "[[2,3],[3,4]]". Empty
/// if it is none or its shapes are unknown.
std::optional<GemmProblem2D> gemm_problem(std::string_view operation, std::string_view shapes,
                                          std::string_view types);

/// Returns the share of the tiles' work that the problem needs, times the share of the waves that
/// tiles fill: 1 is no loss. A wave is one tile on each of the GPU's `units` (multiprocessors or
/// compute units). Empty if the tile or `units` is unknown.
std::optional<double> tile_efficiency(const GemmKernel& kernel, const GemmProblem2D& problem,
                                      unsigned units);

}  // namespace assay

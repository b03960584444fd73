// What low-rank adapters add to a product, scale (x A^T) B^T, and their gradients. Several adapters
// of the same input share the product with A.
#pragma once

#include <cstdint>
#include <vector>

#include "compute/device/device.h"
#include "compute/vendor/blas/gemm_plans.h"
#include "core/data_type.h"
#include "core/result.h"

namespace assay {

/// Adapters of one input. All arrays are of the element type.
struct LowRankGroup {
  struct Part {
    const void* b;  ///< [outputs, rank]
    void* d_b;
    std::int64_t first, outputs;  ///< its columns of y
  };
  const void* a;  ///< [parts * rank, inputs]
  void* d_a;
  std::vector<Part> parts;
  std::int64_t rows, inputs, columns;  ///< x[rows, inputs], y[rows, columns]
  std::int64_t rank;                   ///< of each part

  std::int64_t ranks() const { return static_cast<std::int64_t>(parts.size()) * rank; }
};

class LowRank {
 public:
  /// Products are computed in `precision`. `plans` must outlive it.
  LowRank(GemmPlans& plans, DataType precision, double scale)
      : plans_(&plans), precision_(precision), scale_(scale) {}

  /// t[rows, ranks] = scale x A^T
  Status project(Stream& stream, void* t, const void* x, const LowRankGroup& group);
  /// y = t B^T in the columns of the parts, added to what is there if `add`. `t` is the result of
  /// project().
  Status apply(Stream& stream, void* y, const void* t, const LowRankGroup& group, bool add);
  /// Gradients of A and B, added to what is there if `add`, and dx = scale dy B A unless dx is
  /// null. `u`: scratch as large as t.
  Status backward(Stream& stream, void* dx, const void* dy, const void* x, const void* t, void* u,
                  const LowRankGroup& group, bool add);

 private:
  const std::byte* column(const void* matrix, std::int64_t at) const;

  GemmPlans* plans_;
  DataType precision_;
  double scale_;
};

}  // namespace assay

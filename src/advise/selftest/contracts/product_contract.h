// Says what a library's matrix product computes, against sums in double precision on the host.
#pragma once

#include "compute/device/device.h"
#include "compute/vendor/blas/blas.h"
#include "core/result.h"

namespace assay::selftest {

/// Computes one matrix product, a small one without batches, by the library's own first choice.
/// Compares every element of D, and what the epilogue writes beside it, with the definition
/// (GemmProblem). Error: unsupported if the library makes no plan of it; verification if an element
/// is wrong; else the library's or device's.
Status check_product(Device& device, Stream& stream, Blas& library, const GemmProblem& problem);

}  // namespace assay::selftest

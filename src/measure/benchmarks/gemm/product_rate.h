// The GEMM rate that this device reaches at present, with which the GEMMs of a model are compared.
#pragma once

#include "compute/device/device.h"
#include "core/data_type.h"
#include "core/result.h"

namespace assay {

/// The rate, in FLOP/s, of one GEMM of 8192x8192x8192 (on a CPU 512x512x512) in `precision` with
/// the fastest algorithm that the libraries offer. It takes a second or two. Error: from
/// allocating, compiling and computing.
Result<double> measured_product_rate(Device& device, Stream& stream, DataType precision);

}  // namespace assay

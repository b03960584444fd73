// What this device can do today: the rate that a model's products are held against.
#pragma once

#include "compute/device/device.h"
#include "core/data_type.h"
#include "core/result.h"

namespace assay {

/// FLOP/s of one large matrix product in `precision`, the best of those that the libraries offer;
/// takes a second or two. Error: of allocating, compiling and computing.
Result<double> measured_product_rate(Device& device, Stream& stream, DataType precision);

}  // namespace assay

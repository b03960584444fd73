// The hardware limit that a rate is compared with, and the source of that figure.
#pragma once

#include <optional>

#include "results/record/device_facts.h"
#include "results/record/value.h"
#include "results/record/work.h"

namespace assay {

/// The roof of `limit` on this device; for Limit::compute, the peak rate of `math`. Empty if no
/// reliable figure is known, and for an emulated device, whose rates say nothing about the chip.
/// src/compute/device/peaks.cpp has the peaks and their sources.
std::optional<Roof> roof_of(const DeviceFacts& facts, Limit limit, DataType math);

/// The least seconds that one repetition of `work` can take: its bytes at the roof of the memory,
/// or of the link if `limit` is one, or its operations at the compute roof, whichever takes longer.
/// Empty if neither is known or the work has neither bytes nor operations, and with Limit::none.
std::optional<double> floor_seconds(const DeviceFacts& facts, const Work& work, Limit limit);

}  // namespace assay

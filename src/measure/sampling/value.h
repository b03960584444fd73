// From a cell's seconds to the number it reports.
#pragma once

#include "machine/system/device_facts.h"
#include "measure/benchmarks/benchmark.h"
#include "measure/sampling/sample.h"
#include "measure/store/record.h"
#include "statistics/summary.h"

namespace assay {

/// `seconds` is the summary of Sample::seconds, which is of one repetition, while Work counts bytes
/// and operations of one enqueue(). So a rate is (work.bytes or work.flops) / work.repetitions /
/// seconds, and a latency is the seconds themselves. The interval's ends change places for rates.
/// The share is the rate over its roof, or the least possible seconds over the latency.
Value value_of(const Summary& seconds, const Work& work, Quantity quantity, Limit limit,
               const DeviceFacts& facts);

}  // namespace assay

// Turns a cell's seconds into the number it reports.
#pragma once

#include "measure/grid/benchmark.h"
#include "results/record/device_facts.h"
#include "results/record/record.h"
#include "results/record/sample.h"
#include "statistics/summary.h"

namespace assay {

/// `seconds` summarises Sample::seconds, which are per repetition, while Work counts bytes and
/// operations per enqueue(). So a rate is (work.bytes or work.flops) / work.repetitions / seconds,
/// and a latency is the seconds themselves. For rates, the ends of the interval are swapped. The
/// share is the rate over its roof, or the least possible seconds over the latency.
Value value_of(const Summary& seconds, const Work& work, Quantity quantity, Limit limit,
               const DeviceFacts& facts);

}  // namespace assay

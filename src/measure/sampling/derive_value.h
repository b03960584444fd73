// Turns a cell's seconds into the number it reports.
#pragma once

#include "measure/grid/benchmark.h"
#include "results/record/device_facts.h"
#include "results/record/record.h"
#include "results/record/sample.h"
#include "statistics/summary.h"

namespace assay {

/// `seconds` summarises Sample::seconds, which are per repetition, while Work counts per enqueue().
/// So a rate is amount / work.repetitions / seconds, where `quantity` says which member of Work is
/// the amount; a latency is the seconds themselves. For rates, the ends of the interval are
/// swapped.
///
/// Value::share is a rate over its roof, which is that of `limit` times work.links. For latencies,
/// tokens and samples it is floor_seconds() over the median instead. It is empty if no roof is
/// known.
Value value_of(const Summary& seconds, const Work& work, Quantity quantity, Limit limit,
               const DeviceFacts& facts);

}  // namespace assay

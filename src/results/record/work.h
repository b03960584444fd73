// Describes a measured case (measure/grid/benchmark.h): the work of one launch, the number it
// reports, the limit with which it is compared, and how it is timed.
#pragma once

#include <string_view>

#include "core/data_type.h"

namespace assay {

/// How a sample is timed.
enum class TimeSource {
  device_events,  ///< time between two events around the work, queued before the device starts
  host_clock,     ///< host monotonic clock from before enqueue() until the stream is idle
  enqueue_only,   ///< host monotonic clock around enqueue() alone: the cost of submitting
};

/// The state of the caches before a sample.
enum class CacheState {
  hot,   ///< as the previous sample left them
  cold,  ///< flushed by writing memory twice as large as the last-level cache
};

/// The work of one launch, Case::enqueue() (measure/grid/benchmark.h), the basis of every rate and
/// roofline.
struct Work {
  double bytes = 0;        ///< moved through the memory or link under test, reads plus writes
  double flops = 0;        ///< floating-point (or integer) operations
  double repetitions = 1;  ///< identical operations per launch: all seconds are those of one
  DataType math = DataType::f32;  ///< the type whose peak rate bounds `flops`
  double links = 1;               ///< links that it can use at once; multiplies the link limits
  double tokens = 0;              ///< tokens that pass through a model, on all ranks
  double samples = 0;             ///< samples that pass through a model without tokens
  double ranks = 1;               ///< ranks in all; bytes and flops are those of one rank
};

/// The hardware limit with which a case is compared.
enum class Limit {
  none,
  memory,     ///< bandwidth of the device's memory
  compute,    ///< peak rate of the type `Work::math`
  host_link,  ///< link between the host and the device
  peer_link,  ///< link between two devices
};

/// The number a cell reports, derived from a sample's seconds.
enum class Quantity {
  bandwidth,    ///< bytes/s, higher is better
  flop_rate,    ///< FLOP/s, higher is better
  latency,      ///< seconds per repetition, lower is better
  token_rate,   ///< tokens/s, higher is better
  sample_rate,  ///< samples/s, higher is better
};

/// Return stable names for records: "bandwidth", "device_events", "cold", ...
std::string_view name_of(Quantity quantity);
std::string_view name_of(TimeSource source);
std::string_view name_of(CacheState state);
/// Returns the unit of Value::median (value.h) and its interval: "bytes/s", "FLOP/s", "s", ...
std::string_view unit_of(Quantity quantity);

}  // namespace assay

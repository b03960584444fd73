// Takes the samples of one case: warm up, repeat in the order docs/method.md gives, stop on
// precision or time.
#pragma once

#include <functional>
#include <memory>

#include "benchmarks/benchmark.h"
#include "core/result.h"
#include "device/device.h"
#include "measure/sample.h"

namespace assay {

/// Limits of one cell's sampling. The defaults are those of docs/method.md.
struct SamplingLimits {
  std::size_t least_samples = 30;
  std::size_t most_samples = 10000;
  double precision = 0.005;       ///< stop when the median's 95% half-width is this share of it
  double time_box_seconds = 2.0;  ///< for the samples, warm-up excluded
  double warmup_seconds = 1.0;    ///< cap; at least 3 launches are made
  /// Least wall time of a warm-up window: memory and clocks take some 0.1 s of load to settle.
  double settling_seconds = 0.2;
  /// Least and most wall time of sampling compute-bound work. Under the power cap the clock swings
  /// between steps some 2% apart every half second; a median needs to see many of the swings.
  double sustained_seconds = 2.0;
  double sustained_time_box_seconds = 6.0;
};

/// Everything sampling needs on one device: stream, events, gate, cache flush, clock probe. Built
/// once per device and run, used for every case.
class Sampler {
 public:
  static Result<std::unique_ptr<Sampler>> create(Device& device);
  virtual ~Sampler() = default;

  /// The stream on which cases are prepared and run.
  virtual Stream& stream() = 0;
  /// Error only if the work itself fails; `stop_requested` is polled between samples.
  virtual Result<SampleSet> take(Case& work, const SamplingLimits& limits,
                                 const std::function<bool()>& stop_requested) = 0;
};

}  // namespace assay

// Takes the samples of one case: warms up, repeats the steps in the order of docs/method.md, and
// stops on precision or time.
#pragma once

#include <filesystem>
#include <functional>
#include <limits>
#include <memory>

#include "compute/device/device.h"
#include "core/result.h"
#include "measure/grid/benchmark.h"
#include "ranks/team/team.h"
#include "results/record/sample.h"

namespace assay {

/// Limits of one cell's sampling. The defaults are those of docs/method.md.
struct SamplingLimits {
  std::size_t least_samples = 30;
  std::size_t most_samples = 10000;
  double precision = 0.005;  ///< relative half-width of the median's 95% interval at which to stop
  double time_box_seconds = 2.0;  ///< time for the samples, without the warm-up
  double warmup_seconds = 1.0;    ///< upper limit; at least 3 launches are made
  /// Least wall time of a warm-up window: memory and clocks need about 0.1 s of load to settle.
  double settling_seconds = 0.2;
  double least_seconds = 0;         ///< minimum sampling time before it may stop on precision
  double least_sample_seconds = 0;  ///< work is launched repeatedly to make a sample last this long
  double sustained_time_box_seconds = 10;  ///< replaces time_box_seconds for compute-bound work
  /// Time after which even a fixed number of samples is interrupted: the cell's share of the
  /// budget.
  double budget_seconds = std::numeric_limits<double>::infinity();
};

/// `limits` adapted to compute-bound work, which may reach the power cap; `throttled`: it did in
/// the warm-up. At the power cap the clock alternates between steps 1-2% apart about every half
/// second. A shorter sample would see only one step, and the median would jump between steps from
/// run to run (figures in docs/method.md).
SamplingLimits sustained(SamplingLimits limits, bool throttled);

/// `limits` adapted to threads that a CPU quota stops for the rest of each of its periods, 0.1 s by
/// default. Samples last 1 to 4 whole periods, as many as leave time for 10 samples: shorter ones
/// would lie between two stops, and their median would show nothing of the quota.
SamplingLimits stopped_by_quota(SamplingLimits limits);

/// `limits` for a case with a fixed number of samples. Neither precision nor a time box ends them,
/// and the warm-up is the shortest, so that the work is launched equally often on every machine.
SamplingLimits exactly(std::size_t samples, SamplingLimits limits);

/// Everything sampling needs on one device: stream, events, gate, cache flush, clock probe. It is
/// built once per device and run, and used for every case.
class Sampler {
 public:
  /// With a `team`, all ranks take the same samples and must call take() with equal work; each
  /// sample is as slow as the slowest rank. Device and team must outlive the sampler. `root` is the
  /// folder whose `proc` and `sys` tell of the process's CPU quota. Error: as from the device's
  /// calls.
  static Result<std::unique_ptr<Sampler>> create(Device& device, Team& team = solo_team(),
                                                 const std::filesystem::path& root = "/");
  virtual ~Sampler() = default;

  /// The stream on which cases are prepared and run.
  virtual Stream& stream() = 0;
  /// Takes the samples of `work`. `stop_requested` is polled between samples; if it returns true,
  /// on any rank, SampleSet::stop is `interrupted`. Error: that of the work or of the device's
  /// calls, on any rank; as Team::exchange() or Team::check_alive().
  virtual Result<SampleSet> take(Case& work, const SamplingLimits& limits,
                                 const std::function<bool()>& stop_requested) = 0;
};

}  // namespace assay

// Whether telemetry at 10 Hz changes the measurement that it accompanies. One memory-bound and two
// launch-bound cells are each prepared once and sampled in turn without and with the recorder, in
// one process, so that differences between processes play no part.
//   build/bench/bench_telemetry_effect [DEVICE [BLOCKS]]
// Each block is off, on, on, off or the reverse. Prints for every cell the ratio on/off of the
// medians with its 95% interval over the blocks (Student's t on their log ratios).
// Exit status 1 if an interval does not lie within 0.5% of 1.
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <optional>

#include "compute/device/backend.h"
#include "machine/system/affinity.h"
#include "machine/telemetry/recorder.h"
#include "measure/sampling/sampler.h"
#include "measure/suites/cells_of_target.h"
#include "ranks/collective/communicators.h"
#include "statistics/summary.h"

namespace assay {
namespace {

constexpr double allowed = 0.005;
constexpr double seconds_a_turn = 0.5;

/// Median seconds of one turn, with the recorder running beside it or not.
Result<double> turn(Sampler& sampler, Case& work, const Device& device, bool with_telemetry) {
  std::optional<TelemetryRecorder> recorder;
  if (with_telemetry) {
    TelemetryRequest request;
    request.hardware = device.facts().pci;
    request.cpus = affinity_cpus();
    recorder.emplace(open_telemetry_sources(std::move(request)), 0.1);
  }
  SamplingLimits limits;
  limits.precision = 0;  // uses the whole time box, which spans several ticks
  limits.most_samples = 1'000'000;
  limits.time_box_seconds = seconds_a_turn;
  limits.settling_seconds = 0.05;
  const SampleSet set = TRY(sampler.take(work, limits, [] { return false; }));
  std::vector<double> seconds;
  for (const Sample& sample : set.samples) seconds.push_back(sample.seconds);
  return summarize(seconds).median;
}

/// Logarithm of the ratio on/off in one block.
Result<double> block(Sampler& sampler, Case& work, const Device& device, bool off_first) {
  double logs[2] = {0, 0};
  for (const bool flip : {false, true, true, false}) {
    const bool on = flip == off_first;
    logs[on ? 1 : 0] += std::log(TRY(turn(sampler, work, device, on))) / 2;
  }
  return logs[1] - logs[0];
}

/// Whether the cell's ratio is proven to lie within `allowed` of 1.
Result<bool> compare(const Cell& cell, Device& device, Sampler& sampler, int blocks) {
  Communicators alone(device, solo_team());
  auto work = TRY(find_benchmark(cell.benchmark())
                      ->prepare(cell, {device, sampler.stream(), 1, solo_team(), alone}));
  TRY(turn(sampler, *work, device, true));  // does what is done only once
  double sum = 0, squares = 0;
  for (int i = 0; i < blocks; ++i) {
    const double log_ratio = TRY(block(sampler, *work, device, i % 2 == 0));
    sum += log_ratio;
    squares += log_ratio * log_ratio;
  }
  const double mean = sum / blocks;
  const double deviation =
      std::sqrt(std::max(0.0, squares / blocks - mean * mean) * blocks / (blocks - 1));
  // The first term of Cornish and Fisher's expansion gives Student's t within 1% from 8 blocks on.
  const double t = 1.96 * (1 + (1.96 * 1.96 + 1) / (4.0 * (blocks - 1)));
  const double half = t * deviation / std::sqrt(blocks);
  const double low = std::exp(mean - half), high = std::exp(mean + half);
  const bool within = low > 1 - allowed && high < 1 + allowed;
  fmt::print("{:<60} {:.4f}  [{:.4f}, {:.4f}]  {}\n", cell.id(), std::exp(mean), low, high,
             within ? "ok" : "NOT SHOWN");
  return within;
}

Result<bool> compare_all(const std::string& name, int blocks) {
  auto backends = make_backends();
  const auto device = TRY(open_device(backends, name));
  const auto sampler = TRY(Sampler::create(*device));
  const std::string size = device->facts().backend == "cpu" ? "256MiB" : "1GiB";
  const Plan memory = TRY(make_plan("memory", {{"op", "triad"}, {"dtype", "f64"}, {"size", size}}));
  const Plan launch = TRY(make_plan("launch", {{"metric", "latency,back_to_back"}}));
  bool all = true;
  for (const Plan* plan : {&memory, &launch}) {
    for (const Cell& cell : plan->cells) all = TRY(compare(cell, *device, *sampler, blocks)) && all;
  }
  return all;
}

}  // namespace
}  // namespace assay

int main(int argc, char** argv) {
  const int blocks = argc > 2 ? std::max(8, std::atoi(argv[2])) : 12;
  const auto shown = assay::compare_all(argc > 1 ? argv[1] : "", blocks);
  if (!shown.ok()) {
    fmt::print(stderr, "bench_telemetry_effect: {}\n", shown.error().message);
    return 2;
  }
  return *shown ? 0 : 1;
}

// launch: the cost of starting work on the device, without the work itself.
#include <algorithm>
#include <vector>

#include "compute/device/helpers.h"
#include "core/units.h"
#include "measure/grid/benchmark.h"

namespace assay::launch_benchmark {
namespace {

constexpr unsigned chain_length = 1000;  // kernels in back_to_back, nodes in graph_node
constexpr int submit_burst = 20;  // launches per sample of submit: far below any queue's depth

class LaunchCase final : public Case {
 public:
  LaunchCase(const Cell& cell, PrepareContext context)
      : device_(context.device), metric_(cell.text("metric")) {}

  Status prepare(Stream& stream) {
    program_ = TRY(device_.build({"empty", {}}));
    empty_ = TRY(program_->kernel("empty"));
    increment_ = TRY(program_->kernel("increment"));
    counter_ = TRY(device_.allocate(sizeof(std::uint32_t), MemoryKind::device));
    if (metric_ == "graph_node") graph_ = TRY(capture(stream, false));
    if (metric_ == "event_gap") resolution_ = TRY(event_resolution(stream));
    return {};
  }

  Work work() const override { return {.repetitions = static_cast<double>(launches())}; }
  Quantity quantity() const override { return Quantity::latency; }
  Limit limit() const override { return Limit::none; }
  TimeSource time_source() const override {
    if (metric_ == "latency") return TimeSource::host_clock;
    if (metric_ == "submit") return TimeSource::enqueue_only;
    return TimeSource::device_events;
  }
  bool fits_behind_gate() const override { return metric_ != "back_to_back"; }
  std::vector<std::pair<std::string, std::string>> notes() const override {
    if (metric_ != "event_gap") return {};
    return {{"event_resolution", resolution_ > 0 ? format_seconds(resolution_) : "unknown"}};
  }

  Status enqueue(Stream& stream) override { return run(stream, false); }

  /// The same launches, including the graph, of a kernel that counts them.
  Result<Verification> verify(Stream& stream) override {
    TRY(stream.fill(counter_.data(), 0, counter_.bytes()));
    if (metric_ == "graph_node") graph_ = TRY(capture(stream, true));
    TRY(run(stream, true));
    const auto count = TRY(read_back<std::uint32_t>(stream, counter_.data(), 1)).front();
    const unsigned expected = metric_ == "event_gap" ? 0 : launches();
    Verification verification{count == expected, "kernels that ran, counted by themselves",
                              static_cast<double>(count) - expected, 0, ""};
    if (!verification.passed) {
      verification.detail =
          std::to_string(count) + " kernels ran, " + std::to_string(expected) + " were launched";
    }
    return verification;
  }

 private:
  unsigned launches() const {
    if (metric_ == "submit") return submit_burst;
    if (metric_ == "back_to_back" || metric_ == "graph_node") return chain_length;
    return 1;
  }

  Status run(Stream& stream, bool counting) {
    if (metric_ == "event_gap") return {};  // the sampler's two events and nothing between them
    if (metric_ == "graph_node") return stream.launch(*graph_);
    return launch_each(stream, counting);
  }

  Status launch_each(Stream& stream, bool counting) {
    for (unsigned i = 0; i < launches(); ++i) {
      if (counting) {
        TRY(launch(stream, *increment_, {}, counter_.data()));
      } else {
        TRY(launch(stream, *empty_, {}, 0));
      }
    }
    return {};
  }

  Result<std::unique_ptr<Graph>> capture(Stream& stream, bool counting) {
    return captured(stream, [&] { return launch_each(stream, counting); });
  }

  /// The smallest difference between distinct event intervals around empty kernels: the granularity
  /// of the device's event clock. 0 if all intervals are equal.
  Result<double> event_resolution(Stream& stream) {
    std::unique_ptr<Event> start = TRY(device_.create_event());
    std::unique_ptr<Event> stop = TRY(device_.create_event());
    std::vector<double> intervals;
    for (int i = 0; i < 300; ++i) {
      TRY(stream.record(*start));
      for (int k = 0; k <= i % 3; ++k) TRY(launch(stream, *empty_, {}, 0));
      TRY(stream.record(*stop));
      TRY(stream.synchronize());
      intervals.push_back(TRY(stop->seconds_since(*start)));
    }
    std::sort(intervals.begin(), intervals.end());
    double least = 0;
    for (std::size_t i = 1; i < intervals.size(); ++i) {
      const double step = intervals[i] - intervals[i - 1];
      // Differences below 0.1 ns are rounding of the driver's float milliseconds.
      if (step > 1e-10 && (least == 0 || step < least)) least = step;
    }
    return least;
  }

  Device& device_;
  std::string metric_;
  std::unique_ptr<Program> program_;
  Kernel* empty_ = nullptr;
  Kernel* increment_ = nullptr;
  Buffer counter_;
  std::unique_ptr<Graph> graph_;
  double resolution_ = 0;
};

class LaunchBenchmark final : public Benchmark {
 public:
  std::string_view name() const override { return "launch"; }
  std::string_view summary() const override {
    return "cost of starting work: launch latency, rate, graph nodes, events";
  }
  const std::vector<Axis>& axes() const override {
    static const std::vector<Axis> axes = {
        {"metric",
         "latency: from launch until the host sees completion; submit: the launch call alone; "
         "back_to_back: "
         "time per kernel in a row of 1000; graph_node: the same in a replayed graph; event_gap: "
         "between two adjacent events",
         Axis::Kind::choice,
         {"all"},
         {"latency", "submit", "back_to_back", "graph_node", "event_gap"}},
    };
    return axes;
  }
  std::optional<std::string> unsupported(const Cell&, const Device&) const override {
    return std::nullopt;
  }
  Result<std::unique_ptr<Case>> prepare(const Cell& cell, PrepareContext context) const override {
    auto prepared = std::make_unique<LaunchCase>(cell, context);
    TRY(prepared->prepare(context.stream));
    return std::unique_ptr<Case>(std::move(prepared));
  }
};

const LaunchBenchmark benchmark;
const BenchmarkRegistry::Add registered{&benchmark};

}  // namespace
}  // namespace assay::launch_benchmark

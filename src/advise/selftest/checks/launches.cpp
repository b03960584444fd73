// Launches: their order, their attributes, what kernels use of a multiprocessor.
#include <chrono>
#include <numeric>
#include <thread>

#include "advise/selftest/expect.h"
#include "advise/selftest/launch_counter.h"
#include "compute/device/helpers.h"
#include "compute/device/matrix_unit_types.h"
#include "measure/sampling/start_gate.h"

namespace assay::selftest::launches {
namespace {

Answer streams_wait(Stage& stage) {
  Device& device = stage.device;
  const LaunchCounter counter = TRY(LaunchCounter::create(stage));
  auto gate = TRY(Gate::create(device));
  auto other = TRY(device.create_stream(StreamPriority::high));
  auto event = TRY(device.create_event()), ran = TRY(device.create_event());
  TRY(gate.close(stage.stream));
  TRY(stage.stream.record(*event));
  TRY(other->wait(*event));
  TRY(counter.increment(*other));
  TRY(other->record(*ran));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const bool early = TRY(event->done()) || TRY(ran->done());
  gate.open();
  TRY(other->synchronize());
  TRY(expect(!gate.gave_up(), "the gate opened by itself before the host opened it"));
  TRY(expect(!early, "work behind a closed gate has run"));
  TRY(counter.expect(1, "that waited for another stream's event"));
  return passed();
}

Answer gates_give_up(Stage& stage) {
  auto gate = TRY(Gate::create(stage.device));
  const auto begin = std::chrono::steady_clock::now();
  TRY(gate.close(stage.stream));
  TRY(stage.stream.synchronize());
  const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - begin;
  TRY(expect(gate.gave_up(), "a gate that nobody opened does not say that it gave up"));
  TRY(expect_within("seconds until a gate that nobody opens gives up", waited.count(), 0.9, 60));
  return passed();
}

/// Each link of the chain is a single-threaded kernel that works for some time.
class Chain {
 public:
  static Result<Chain> create(Stage& stage) {
    Device& device = stage.device;
    auto program = TRY(device.build({"launch_attributes", {}}));
    Kernel* const relay = TRY(program->kernel("relay"));
    Buffer values = TRY(device.allocate((links + 1) * sizeof(unsigned), MemoryKind::device));
    Buffer times = TRY(device.allocate(2 * links * sizeof(std::uint64_t), MemoryKind::device));
    return Chain(stage, std::move(program), *relay, std::move(values), std::move(times));
  }

  Status clear() const {
    TRY(stage_->stream.fill(values_.data(), 0, values_.bytes()));
    return stage_->stream.fill(times_.data(), 0, times_.bytes());
  }
  Status launch_all() const {
    for (std::size_t i = 0; i < links; ++i) {
      unsigned* const from = values_.as<unsigned>() + i;
      TRY(launch(stage_->stream, *relay_, {}, {.programmatic = true}, from + 1, from, ticks(),
                 times_.as<std::uint64_t>() + 2 * i));
    }
    return {};
  }
  Status check(std::string_view where) const {
    std::vector<unsigned> expected(links + 1);
    std::iota(expected.begin(), expected.end(), 0u);
    const auto values = TRY(read_back<unsigned>(stage_->stream, values_.data(), links + 1));
    TRY(expect_equal(fmt::format("values along the chain {}", where), values, expected));
    // Kernels on an emulated device do not read one clock.
    if (stage_->device.facts().emulated) return {};
    const auto moments = TRY(read_back<std::uint64_t>(stage_->stream, times_.data(), 2 * links));
    for (std::size_t i = 0; i + 1 < links; ++i) {
      if (moments[2 * i + 3] >= moments[2 * i + 1] + ticks()) continue;
      return wrong(fmt::format("{}: kernel {} was overtaken by its successor", where, i));
    }
    return {};
  }

 private:
  static constexpr std::size_t links = 6;

  Chain(Stage& stage, std::unique_ptr<Program> program, Kernel& relay, Buffer values, Buffer times)
      : stage_(&stage),
        program_(std::move(program)),
        relay_(&relay),
        values_(std::move(values)),
        times_(std::move(times)) {}
  /// 50 us; an emulated device runs too slowly to wait that long.
  std::uint64_t ticks() const {
    const DeviceFacts& facts = stage_->device.facts();
    return facts.emulated ? 200 : static_cast<std::uint64_t>(50e-6 * facts.tick_hz);
  }

  Stage* stage_;
  std::unique_ptr<Program> program_;
  Kernel* relay_;
  Buffer values_, times_;
};

Answer programmatic(Stage& stage) {
  const Chain chain = TRY(Chain::create(stage));
  TRY(chain.clear());
  TRY(chain.launch_all());
  TRY(chain.check("on a stream"));
  TRY(chain.clear());
  const auto graph = TRY(captured(stage.stream, [&] { return chain.launch_all(); }));
  TRY(stage.stream.launch(*graph));
  TRY(chain.check("in a graph"));
  return passed();
}

Status clusters_are_refused(Stage& stage) {
  const LaunchCounter counter = TRY(LaunchCounter::create(stage));
  TRY(expect_refused(
      "a launch of clusters",
      launch(stage.stream, counter.kernel(), {{2}, {1}}, {.cluster = {2}}, counter.address()),
      ErrorKind::unsupported, "no clusters of blocks"));
  TRY(launch(stage.stream, counter.kernel(), {}, {.cluster = {1, 1, 1}}, counter.address()));
  return counter.expect(1, "after a refused launch and one of a single block");
}

Status clusters_run(Stage& stage) {
  constexpr unsigned blocks = 16;
  Stream& stream = stage.stream;
  auto program = TRY(stage.device.build({"launch_attributes", {}}));
  Kernel& kernel = *TRY(program->kernel("cluster_ranks"));
  const Buffer ranks = TRY(stage.device.allocate(blocks * sizeof(unsigned), MemoryKind::device));
  const auto expect_clusters_of = [&](unsigned cluster) -> Status {
    std::vector<unsigned> expected(blocks);
    for (unsigned i = 0; i < blocks; ++i) expected[i] = i % cluster;
    const auto found = TRY(read_back<unsigned>(stream, ranks.data(), blocks));
    return expect_equal(fmt::format("numbers of blocks in clusters of {}", cluster), found,
                        expected);
  };
  const auto launch_with = [&](Dim3 cluster, unsigned grid) {
    return launch(stream, kernel, {{grid}, {64}}, {.cluster = cluster}, ranks.as<unsigned>());
  };
  for (const unsigned cluster : {2u, 4u, 8u, 1u}) {
    TRY(stream.fill(ranks.data(), 0xff, ranks.bytes()));
    TRY(launch_with({cluster}, blocks));
    TRY(expect_clusters_of(cluster));
  }
  TRY(expect_refused("a grid of 15 in clusters of 2", launch_with({2}, 15),
                     "must divide the grid"));
  TRY(expect_refused("a cluster of 16", launch_with({16}, 16), "1 to 8 blocks"));
  const auto graph = TRY(captured(stream, [&] {
    return launch(stream, kernel, {{blocks}, {64}}, {.cluster = {4}, .programmatic = true},
                  ranks.as<unsigned>());
  }));
  TRY(stream.fill(ranks.data(), 0xff, ranks.bytes()));
  TRY(stream.launch(*graph));
  return expect_clusters_of(4);
}

Answer clusters(Stage& stage) {
  if (compute_capability(stage.device.facts()) < 90) {
    TRY(clusters_are_refused(stage));
    return passed("this device has none, and a launch of them is refused");
  }
  TRY(clusters_run(stage));
  return passed();
}

Answer shared_memory(Stage& stage) {
  const LaunchCounter counter = TRY(LaunchCounter::create(stage));
  const auto limit = static_cast<unsigned>(stage.device.facts().shared_bytes_per_block);
  TRY(expect(limit > 0, "the driver reports no shared memory"));
  TRY(counter.kernel().allow_dynamic_shared(limit));
  TRY(launch(stage.stream, counter.kernel(), {{1}, {1}, limit}, counter.address()));
  TRY(counter.expect(1, fmt::format("with {} bytes of shared memory", limit)));
  TRY(expect_refused("1 MiB of shared memory more than there is",
                     counter.kernel().allow_dynamic_shared(limit + 1024 * 1024), ""));
  return fmt::format("{} bytes for a block", limit);
}

Answer resources(Stage& stage) {
  const LaunchCounter counter = TRY(LaunchCounter::create(stage));
  const KernelResources used = TRY(counter.kernel().resources());
  TRY(expect(used.registers > 0, "the driver says that a kernel uses no registers"));
  TRY(expect_equal("bytes of scratch memory of a small kernel", used.local_bytes, 0));
  const int blocks = TRY(counter.kernel().blocks_per_multiprocessor(256, 0));
  TRY(expect_equal("blocks of 256 threads on a multiprocessor", blocks,
                   stage.device.facts().max_threads_per_multiprocessor / 256));
  return passed();
}

Answer unknown_kernels(Stage& stage) {
  const auto program = TRY(stage.device.build({"empty", {}}));
  TRY(expect_refused("a kernel that does not exist", program->kernel("no_such_kernel"),
                     "no_such_kernel"));
  return passed();
}

const AddChecks registered{
    {.name = "stream-waits",
     .topic = Topic::device,
     .about = "a stream waits for another stream's event",
     .accelerator = false,
     .run = &streams_wait},
    {.name = "gate",
     .topic = Topic::device,
     .about = "a gate that nobody opens gives up after a second",
     .accelerator = false,
     .run = &gates_give_up},
    {.name = "programmatic-launches",
     .topic = Topic::device,
     .about = "launches that may begin early keep their order, also in a graph",
     .accelerator = false,
     .run = &programmatic},
    {.name = "clusters",
     .topic = Topic::device,
     .about = "clusters of blocks run, or are refused by devices without them",
     .accelerator = false,
     .run = &clusters},
    {.name = "shared-memory",
     .topic = Topic::device,
     .about = "a kernel gets all the shared memory that the driver reports, and not more",
     .run = &shared_memory},
    {.name = "kernel-resources",
     .topic = Topic::device,
     .about = "registers and resident blocks of a kernel are plausible",
     .run = &resources},
    {.name = "unknown-kernel",
     .topic = Topic::device,
     .about = "a kernel that does not exist is an error that names it",
     .accelerator = false,
     .run = &unknown_kernels},
};

}  // namespace
}  // namespace assay::selftest::launches

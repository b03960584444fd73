// The device interface on a real accelerator, with the default backend. Without an accelerator
// every test skips and says so.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "compute/device/helpers.h"
#include "compute/device/matrix_unit_types.h"
#include "measure/sampling/clock_probe.h"
#include "measure/sampling/start_gate.h"
#include "support/device_contract.h"

namespace assay {
namespace {

class Gpu : public DeviceContract {
 protected:
  void SetUp() override {
    if (open_test_device("")->facts().backend == "cpu") {
      GTEST_SKIP() << "no accelerator on this machine";
    }
    open("");
  }
  /// Clusters of blocks, programmatic launches and the tensor memory accelerator.
  bool hopper() const { return compute_capability(device_->facts()) >= 90; }
};

TEST_F(Gpu, AWaitHoldsTheOtherStreamBack) {
  a_wait_holds_the_other_stream_back();
}
TEST_F(Gpu, AGateThatNobodyOpensGivesUpAfterASecond) {
  a_gate_that_nobody_opens_gives_up_after_a_second();
}
TEST_F(Gpu, EventsAgreeWithTheHostClock) {
  events_agree_with_the_host_clock(100, 0.02);
}
TEST_F(Gpu, GraphReplaysTwoStreamsInOrder) {
  a_graph_replays_two_streams_in_order();
}
TEST_F(Gpu, MoreMemoryThanThereIsIsRefusedAndTheDeviceLivesOn) {
  more_memory_than_there_is_is_refused();
}

TEST_F(Gpu, AGraphTakesANewCapture) {
  a_graph_takes_a_new_capture();
}
TEST_F(Gpu, EventsInAGraphHaveTheTimesOfEachReplay) {
  events_in_a_graph_have_the_times_of_each_replay(2e-6);
}
TEST_F(Gpu, AnUntimedEventOrdersAndHasNoTime) {
  an_untimed_event_orders_and_has_no_time();
}
TEST_F(Gpu, ProgrammaticLaunchesKeepTheirOrder) {
  programmatic_launches_keep_their_order(
      static_cast<std::uint64_t>(50e-6 * device_->facts().tick_hz));
}

/// Every block of a cluster has its own number in it; also in a graph.
TEST_F(Gpu, ClustersRunOrAreRefused) {
  if (!hopper()) return clusters_are_refused();
  constexpr unsigned blocks = 16;
  auto program = std::move(device_->build({"launch_attributes", {}})).value();
  Kernel& kernel = *program->kernel("cluster_ranks").value();
  const Buffer ranks =
      std::move(device_->allocate(blocks * sizeof(unsigned), MemoryKind::device)).value();
  const auto expect_clusters_of = [&](unsigned cluster) {
    const auto found = read_back<unsigned>(*stream_, ranks.data(), blocks).value();
    for (unsigned i = 0; i < blocks; ++i) EXPECT_EQ(found[i], i % cluster) << i;
  };
  const auto launch_with = [&](Dim3 cluster, unsigned grid) {
    return launch(*stream_, kernel, {{grid}, {64}}, {.cluster = cluster}, ranks.as<unsigned>());
  };
  for (const unsigned cluster : {2u, 4u, 8u, 1u}) {
    ASSERT_TRUE(stream_->fill(ranks.data(), 0xff, ranks.bytes()));
    const Status launched = launch_with({cluster}, blocks);
    ASSERT_TRUE(launched) << launched.error().message;
    expect_clusters_of(cluster);
  }
  EXPECT_THAT(launch_with({2}, 15).error().message, testing::HasSubstr("must divide the grid"));
  EXPECT_THAT(launch_with({16}, 16).error().message, testing::HasSubstr("1 to 8 blocks"));
  ASSERT_TRUE(stream_->begin_capture());
  ASSERT_TRUE(launch(*stream_, kernel, {{blocks}, {64}}, {.cluster = {4}, .programmatic = true},
                     ranks.as<unsigned>()));
  auto graph = stream_->end_capture();
  ASSERT_TRUE(graph) << graph.error().message;
  ASSERT_TRUE(stream_->fill(ranks.data(), 0xff, ranks.bytes()));
  ASSERT_TRUE(stream_->launch(**graph));
  expect_clusters_of(4);
}

/// Boxes inside a matrix with padded rows and across each of its edges, in every swizzle.
TEST_F(Gpu, TensorMapsLoadTheirBoxesOrAreRefused) {
  if (!hopper()) return tensor_maps_are_refused();
  constexpr int columns = 96, rows = 100, box_rows = 16;
  constexpr std::size_t pitch = 104;  // elements: 208 bytes
  std::vector<std::uint16_t> source(pitch * rows);
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::uint16_t>(i + 1);
  const std::size_t source_bytes = source.size() * sizeof(source[0]);
  const Buffer matrix = std::move(device_->allocate(source_bytes, MemoryKind::device)).value();
  const Buffer box = std::move(device_->allocate(16384, MemoryKind::device)).value();
  ASSERT_TRUE(stream_->copy(matrix.data(), source.data(), source_bytes));
  auto program = device_->build({"launch_attributes", {}});
  ASSERT_TRUE(program) << program.error().message;
  const auto kernel = (*program)->kernel("load_box");
  ASSERT_TRUE(kernel) << kernel.error().message;
  Kernel& load = **kernel;

  for (const TensorSwizzle swizzle : {TensorSwizzle::none, TensorSwizzle::bytes_32,
                                      TensorSwizzle::bytes_64, TensorSwizzle::bytes_128}) {
    const unsigned span = span_bytes(swizzle);
    const int box_columns = span == 0 ? 72 : static_cast<int>(span / 2);
    const TensorLayout layout = {
        matrix.data(),
        DataType::bf16,
        {{columns, static_cast<std::uint32_t>(box_columns)}, {rows, box_rows, pitch * 2}},
        swizzle};
    const auto map = device_->tensor_map(layout);
    ASSERT_TRUE(map) << map.error().message;
    const std::size_t elements = static_cast<std::size_t>(box_columns) * box_rows;
    for (const auto& [column, row] :
         {std::pair{8, 24}, {0, 0}, {columns - 8, rows - 3}, {-8, -2}}) {
      SCOPED_TRACE(fmt::format("swizzle {}, box at {}, {}", span, column, row));
      ASSERT_TRUE(stream_->fill(box.data(), 0xff, box.bytes()));
      const Status launched = launch(*stream_, load, {{1}, {128}}, *map, column, row,
                                     static_cast<unsigned>(elements * 2), box.as<unsigned>());
      ASSERT_TRUE(launched) << launched.error().message;
      const auto read = read_back<std::uint16_t>(*stream_, box.data(), elements);
      ASSERT_TRUE(read) << read.error().message;
      const auto& found = *read;
      for (int r = 0; r < box_rows; ++r) {
        for (int c = 0; c < box_columns; ++c) {
          const int x = column + c, y = row + r;
          const bool inside = x >= 0 && x < columns && y >= 0 && y < rows;
          const std::uint16_t value =
              inside ? source[static_cast<std::size_t>(y) * pitch + static_cast<std::size_t>(x)]
                     : 0;
          // The chunk of 16 bytes (address bits from 4) is exchanged by the row of 128 (from 7).
          std::size_t at = static_cast<std::size_t>(r * box_columns + c) * 2;
          if (span != 0) at ^= (at >> 3) & ((span / 16 - 1) << 4);
          ASSERT_EQ(found[at / 2], value) << "column " << c << ", row " << r;
        }
      }
    }
  }
}

TEST_F(Gpu, FactsAreFilledIn) {
  const DeviceFacts& facts = device_->facts();
  EXPECT_FALSE(facts.name.empty());
  EXPECT_FALSE(facts.arch.empty());
  EXPECT_THAT(facts.pci, testing::MatchesRegex("[0-9a-f]+:[0-9a-f]+:[0-9a-f]+\\.[0-9a-f]"));
  EXPECT_FALSE(facts.uuid.empty());
  EXPECT_GT(facts.memory_bytes, std::uint64_t{1} << 30);
  EXPECT_GT(facts.last_level_cache_bytes, std::uint64_t{1} << 20);
  EXPECT_GT(facts.multiprocessors, 10);
  EXPECT_GE(facts.wave_size, 32);
  EXPECT_EQ(facts.max_threads_per_block, 1024);
  EXPECT_GT(facts.clock_hz, 5e8);
  const auto memory = device_->memory_free_and_total();
  ASSERT_TRUE(memory);
  EXPECT_LE(memory->first, memory->second);
}

TEST_F(Gpu, CopiesArriveWholeBetweenAllKindsOfMemory) {
  constexpr std::size_t bytes = 1000003;
  for (const MemoryKind host : {MemoryKind::pinned, MemoryKind::pageable}) {
    Buffer from = std::move(device_->allocate(bytes, host)).value();
    Buffer first = std::move(device_->allocate(bytes, MemoryKind::device)).value();
    Buffer second = std::move(device_->allocate(bytes, MemoryKind::device)).value();
    Buffer back = std::move(device_->allocate(bytes, host)).value();
    for (std::size_t i = 0; i < bytes; ++i) from.as<unsigned char>()[i] = (i * 7 + 3) & 255;
    ASSERT_TRUE(stream_->copy(first.data(), from.data(), bytes));
    ASSERT_TRUE(stream_->copy(second.data(), first.data(), bytes));
    ASSERT_TRUE(stream_->copy(back.data(), second.data(), bytes));
    ASSERT_TRUE(stream_->synchronize());
    EXPECT_EQ(std::memcmp(back.data(), from.data(), bytes), 0);
  }
}

TEST_F(Gpu, ClockProbeGivesAPlausibleEngineClock) {
  auto gate = std::move(Gate::create(*device_)).value();
  auto probe = std::move(ClockProbe::create(*device_)).value();
  ASSERT_TRUE(probe.read_before(*stream_));
  ASSERT_TRUE(gate.close(*stream_));
  ASSERT_TRUE(probe.read_after(*stream_));
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  gate.open();
  ASSERT_TRUE(stream_->synchronize());
  ASSERT_TRUE(probe.clock_hz());
  EXPECT_GT(*probe.clock_hz(), 2e8);
  EXPECT_LT(*probe.clock_hz(), 1.05 * device_->facts().clock_hz);
}

TEST_F(Gpu, ResourcesAndOccupancy) {
  const auto resources = increment_->resources();
  ASSERT_TRUE(resources);
  EXPECT_GT(resources->registers, 0);
  EXPECT_EQ(resources->local_bytes, 0);
  const auto blocks = increment_->blocks_per_multiprocessor(256, 0);
  ASSERT_TRUE(blocks);
  EXPECT_EQ(*blocks, device_->facts().max_threads_per_multiprocessor / 256);
}

TEST_F(Gpu, DynamicSharedMemoryUpToTheLimitAndNotBeyond) {
  const auto limit = static_cast<unsigned>(device_->facts().shared_bytes_per_block);
  ASSERT_GT(limit, 0u);
  ASSERT_TRUE(increment_->allow_dynamic_shared(limit));
  ASSERT_TRUE(launch(*stream_, *increment_, {{1}, {1}, limit}, counter_.as<unsigned>()));
  EXPECT_EQ(count(), 1u);
  EXPECT_FALSE(increment_->allow_dynamic_shared(limit + 1024 * 1024));
}

TEST_F(Gpu, PinnedMemoryIsVisibleToKernels) {
  Buffer pinned = std::move(device_->allocate(sizeof(unsigned), MemoryKind::pinned)).value();
  *pinned.as<unsigned>() = 41;
  ASSERT_TRUE(launch(*stream_, *increment_, {}, pinned.as<unsigned>()));
  ASSERT_TRUE(stream_->synchronize());
  EXPECT_EQ(*pinned.as<unsigned>(), 42u);
}

TEST_F(Gpu, SensorsReadPlausibly) {
  const SensorReading reading = device_->sense();
  if (reading.power_watts) {
    EXPECT_GT(*reading.power_watts, 10);
    EXPECT_LT(*reading.power_watts, 2000);
  }
  if (reading.temperature_celsius) {
    EXPECT_GT(*reading.temperature_celsius, 5);
    EXPECT_LT(*reading.temperature_celsius, 120);
  }
}

TEST_F(Gpu, AnUnknownKernelIsNamed) {
  const auto kernel = program_->kernel("no_such_kernel");
  ASSERT_FALSE(kernel);
  EXPECT_THAT(kernel.error().message, testing::HasSubstr("no_such_kernel"));
}

TEST_F(Gpu, EveryKernelSourceBuilds) {
  for (const std::string name :
       {"memory", "copy_check_pattern", "gate", "clock", "empty", "launch_attributes"}) {
    const auto program = device_->build({name, {}});
    EXPECT_TRUE(program) << name << ": " << program.error().message;
  }
}

}  // namespace
}  // namespace assay

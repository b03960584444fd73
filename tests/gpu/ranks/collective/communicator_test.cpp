// NCCL or RCCL between two real accelerators that one process drives. Skips with fewer.
#include <gtest/gtest.h>

#include "ranks/collective/communicators.h"
#include "ranks/team/thread_team.h"
#include "support/collective_contract.h"
#include "support/test_device.h"

namespace assay {
namespace {

TEST(GpuCommunicators, LiveSideBySideSplitQueueAndAreCaptured) {
  const auto device = open_test_device("");
  if (device->facts().backend == "cpu" || device->siblings() < 2) {
    GTEST_SKIP() << "fewer than two accelerators on this machine";
  }
  const std::string_view best = best_communicator_kind(*device, solo_team());
  ThreadTeam team(2);
  team.run([&](ThreadTeam::End& end) {
    const auto own = device->open_sibling(end.rank());
    ASSERT_TRUE(own) << own.error().message;
    const auto stream = (*own)->create_stream();
    ASSERT_TRUE(stream);
    const CommunicatorKind kind = communicator_kind(best);
    CommunicatorContract{kind, **own, end, **stream}.expect_all();
  });
}

TEST(GpuCommunicators, ReachEachOthersMemory) {
  const auto device = open_test_device("");
  if (device->facts().backend == "cpu" || device->siblings() < 2) {
    GTEST_SKIP() << "fewer than two accelerators on this machine";
  }
  ThreadTeam team(2);
  team.run([&](ThreadTeam::End& end) {
    const auto own = device->open_sibling(end.rank());
    ASSERT_TRUE(own) << own.error().message;
    const auto stream = (*own)->create_stream();
    ASSERT_TRUE(stream);
    const CommunicatorKind kind = communicator_kind("peer");
    CommunicatorContract{
        .kind = kind, .device = **own, .team = end, .stream = **stream, .messages = false}
        .expect_all();
  });
}

/// Fewer CTAs move less: the bound reaches the library.
TEST(GpuCommunicators, ABoundOnCtasCostsBandwidth) {
  const auto device = open_test_device("");
  if (device->facts().backend == "cpu" || device->siblings() < 2) {
    GTEST_SKIP() << "fewer than two accelerators on this machine";
  }
  const std::string_view best = best_communicator_kind(*device, solo_team());
  ThreadTeam team(2);
  team.run([&](ThreadTeam::End& end) {
    const auto own = std::move(device->open_sibling(end.rank())).value();
    const auto stream = std::move(own->create_stream()).value();
    const auto begin = std::move(own->create_event()).value();
    const auto done = std::move(own->create_event()).value();
    constexpr std::size_t bytes = std::size_t{256} << 20;
    const Buffer buffer = std::move(own->allocate(bytes, MemoryKind::device)).value();
    ASSERT_TRUE(stream->fill(buffer.data(), 0, bytes));
    CollectiveCall call;
    call.send = call.receive = buffer.data();
    call.count = bytes / sizeof(float);
    const auto seconds = [&](const CommunicatorConfig& config) {
      auto made = communicator_kind(best).create(*own, end, config);
      EXPECT_TRUE(made) << made.error().message;
      if (!made) return 0.0;
      for (int i = 0; i < 3; ++i) {
        if (i == 1) EXPECT_TRUE(stream->record(*begin));
        EXPECT_TRUE((*made)->run(call, *stream));
      }
      EXPECT_TRUE(stream->record(*done));
      EXPECT_TRUE(stream->synchronize());
      const auto passed = done->seconds_since(*begin);
      EXPECT_TRUE(passed);
      return passed ? *passed : 0.0;
    };
    const double free = seconds({}), bound = seconds({1, 1});
    EXPECT_GT(bound, 1.5 * free);
  });
}

}  // namespace
}  // namespace assay

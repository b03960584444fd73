// assay's own exchange between three virtual MI300Xs that one process drives: several streams in
// one capture, as HIP keeps them.
#include <gtest/gtest.h>

#include <numeric>

#include "abi/virtual_machine.h"
#include "compute/device/helpers.h"
#include "ranks/collective/communicator.h"
#include "ranks/team/thread_team.h"

#ifdef VIRTUAL_HIP

namespace assay {
namespace {

constexpr int ranks = 3;
constexpr std::size_t count = 150'000;  // more than are added up by one kernel

/// A sum over all ranks, captured in a stream that another one began to capture, as training does:
/// the exchange takes further streams in.
void sum_in_a_graph(ThreadTeam::End& end, Device& device, Communicator& communicator) {
  const auto stream = std::move(device.create_stream()).value();
  const auto exchange = std::move(device.create_stream()).value();
  const auto fork = std::move(device.create_event()).value();
  const auto join = std::move(device.create_event()).value();
  const Buffer mine = std::move(device.allocate(count * sizeof(float), MemoryKind::device)).value();
  const Buffer sum = std::move(device.allocate(count * sizeof(float), MemoryKind::device)).value();
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), static_cast<float>(end.rank()));
  ASSERT_TRUE(stream->copy(mine.data(), values.data(), count * sizeof(float)));
  const CollectiveCall call = {.send = mine.data(), .receive = sum.data(), .count = count};
  const auto graph = captured(*stream, [&]() -> Status {
    for (int i = 0; i < 2; ++i) {
      TRY(stream->record(*fork));
      TRY(exchange->wait(*fork));
      TRY(communicator.enqueue(call, *exchange));
      TRY(exchange->record(*join));
      TRY(stream->wait(*join));
    }
    return {};
  });
  ASSERT_TRUE(graph) << graph.error().message;
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(stream->launch(**graph));
  const auto result = read_back<float>(*stream, sum.data(), count);
  ASSERT_TRUE(result) << result.error().message;
  for (std::size_t i = 0; i < count; ++i) {
    ASSERT_EQ((*result)[i], static_cast<float>(ranks * i + ranks * (ranks - 1) / 2)) << i;
  }
}

TEST(PeerVirtual, SumsInGraphs) {
  const VirtualMachine machine(VIRTUAL_HIP + std::string("6"));
  machine.set("MI300X_DEVICES", std::to_string(ranks));
  const auto backend = machine.backend();
  ASSERT_GT(backend->score(), 0);  // loads the driver, before threads open devices
  ThreadTeam team(ranks);
  team.run([&](ThreadTeam::End& end) {
    const auto device = backend->open(end.rank());
    ASSERT_TRUE(device) << device.error().message;
    const auto communicator = communicator_kind("peer")->create(**device, end, {});
    ASSERT_TRUE(communicator) << communicator.error().message;
    sum_in_a_graph(end, **device, **communicator);
    ASSERT_TRUE(end.exchange("the end", ""));  // before the memory of others goes
  });
  EXPECT_STREQ(machine.last_fault(), "");
}

}  // namespace
}  // namespace assay
#endif

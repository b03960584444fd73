// The communicator through each other's memory, every rank a thread with a device of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <random>
#include <thread>

#include "advise/selftest/contracts/collective_examples.h"
#include "advise/selftest/contracts/communicator_contract.h"
#include "ranks/team/thread_team.h"
#include "support/holds.h"
#include "support/test_device.h"

namespace assay {
namespace {

using testing::HasSubstr;

/// Runs `use` on every rank with a communicator among `ranks`.
void with_peers(int ranks,
                const std::function<void(ThreadTeam::End&, Communicator&, Stream&)>& use) {
  ThreadTeam team(ranks);
  team.run([&](ThreadTeam::End& end) {
    const auto device = open_test_device("cpu");
    const auto stream = std::move(device->create_stream()).value();
    auto communicator = communicator_kind("peer")->create(*device, end, {});
    ASSERT_TRUE(communicator) << communicator.error().message;
    use(end, **communicator, *stream);
    ASSERT_TRUE(end.exchange("the end", ""));  // before the memory of others goes
  });
}

class PeerRanks : public testing::TestWithParam<int> {};

TEST_P(PeerRanks, DoTheirOperationsOnEveryType) {
  with_peers(GetParam(), [](ThreadTeam::End& end, Communicator& communicator, Stream& stream) {
    const auto tally = selftest::check_collectives(communicator, stream, end.rank(), end.size(),
                                                   {0, 1, 8, 31, 1000});
    ASSERT_TRUE(holds(tally));
    EXPECT_GT(tally->run, 150);
    EXPECT_GT(tally->refused, 1000);  // other reductions and types, other operations
  });
}

/// More than one kernel adds up at once, and more than the slots of a window hold.
TEST_P(PeerRanks, MoveLongVectorsInPieces) {
  with_peers(GetParam(), [](ThreadTeam::End& end, Communicator& communicator, Stream& stream) {
    using enum CollectiveOperation;
    for (const auto operation : {all_reduce, reduce_scatter, all_gather}) {
      for (const std::size_t count : {std::size_t{300007}, std::size_t{5} << 18}) {
        for (const bool in_place : {false, true}) {
          selftest::CollectiveExample example;
          example.call.operation = operation;
          example.call.count = count;
          example.rank = end.rank();
          example.ranks = end.size();
          example.in_place = in_place;
          EXPECT_TRUE(holds(selftest::check_collective(communicator, stream, example)));
        }
      }
    }
  });
}

/// Operations queued in a row, of which each rank comes late to others: nobody writes where another
/// still reads.
TEST_P(PeerRanks, LagBehindEachOther) {
  with_peers(GetParam(), [](ThreadTeam::End& end, Communicator& communicator, Stream& stream) {
    using enum CollectiveOperation;
    const auto ranks = static_cast<std::size_t>(end.size());
    const auto pattern = [](std::size_t operation, std::size_t i) {
      return static_cast<float>((i * 7 + operation * 13) % 101);
    };
    struct Operation {
      CollectiveCall call;
      std::vector<float> send, receive;
    };
    constexpr std::array kinds = {reduce_scatter, reduce_scatter, all_reduce, reduce_scatter,
                                  all_reduce,     all_gather,     all_gather};
    std::vector<Operation> operations(35);
    std::mt19937 random(static_cast<unsigned>(end.rank()));
    const float own = static_cast<float>(end.rank() + 1);
    for (std::size_t k = 0; k < operations.size(); ++k) {
      auto& [call, send, receive] = operations[k];
      call.operation = kinds[k % kinds.size()];
      call.count = std::array<std::size_t, 3>{170000, 1100000, 400000}[k % 3];
      send.resize(call.count * (call.operation == reduce_scatter ? ranks : 1));
      receive.resize(call.count * (call.operation == all_gather ? ranks : 1));
      for (std::size_t i = 0; i < send.size(); ++i) send[i] = own * pattern(k, i);
      call.send = send.data();
      call.receive = receive.data();
      const std::array delays = {0, 0, 0, 300, 2000, 20000};
      const auto late = std::chrono::microseconds(delays[random() % delays.size()]);
      ASSERT_TRUE(stream.call([late] { std::this_thread::sleep_for(late); }));
      ASSERT_TRUE(communicator.enqueue(call, stream));
    }
    ASSERT_TRUE(stream.synchronize());
    const float of_all = static_cast<float>(ranks * (ranks + 1) / 2);
    for (std::size_t k = 0; k < operations.size(); ++k) {
      const auto& [call, send, receive] = operations[k];
      const std::size_t first =
          call.operation == reduce_scatter ? static_cast<std::size_t>(end.rank()) * call.count : 0;
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < receive.size(); ++i) {
        const float expected =
            call.operation == all_gather
                ? static_cast<float>(i / call.count + 1) * pattern(k, i % call.count)
                : of_all * pattern(k, first + i);
        if (receive[i] != expected) ++wrong;
      }
      EXPECT_EQ(wrong, 0u) << name_of(call.operation) << " " << k;
    }
  });
}

TEST_P(PeerRanks, HaveSeveralCommunicatorsAndQueueOnStreams) {
  ThreadTeam team(GetParam());
  team.run([&](ThreadTeam::End& end) {
    const auto device = open_test_device("cpu");
    const auto stream = std::move(device->create_stream()).value();
    const CommunicatorKind kind = communicator_kind("peer").value();
    EXPECT_TRUE(
        holds(selftest::check_communicators(kind, *device, end, *stream, {.messages = false})));
  });
}

INSTANTIATE_TEST_SUITE_P(OneToFour, PeerRanks, testing::Values(1, 2, 3, 4));

/// The sum has the order of ranks, so that all of them have the same bits.
TEST(PeerCommunicator, AddsUpInTheOrderOfRanks) {
  with_peers(3, [](ThreadTeam::End& end, Communicator& communicator, Stream& stream) {
    for (const std::size_t count : {std::size_t{9}, std::size_t{400000}}) {
      std::vector<float> values(count);
      const auto at = [](int rank, std::size_t i) {
        return std::ldexp(1.0f + static_cast<float>(i % 97) / 128, 9 * (rank - 1));
      };
      for (std::size_t i = 0; i < count; ++i) values[i] = at(end.rank(), i);
      CollectiveCall call;
      call.send = call.receive = values.data();
      call.count = count;
      ASSERT_TRUE(communicator.run(call, stream));
      ASSERT_TRUE(stream.synchronize());
      for (std::size_t i = 0; i < count; ++i) {
        ASSERT_EQ(values[i], at(0, i) + at(1, i) + at(2, i)) << i << " of " << count;
      }
    }
  });
}

/// A rank that never comes: the others wait until somebody ends it.
TEST(PeerCommunicator, AnEndedExchangeWaitsForNobody) {
  with_peers(2, [](ThreadTeam::End& end, Communicator& communicator, Stream& stream) {
    EXPECT_TRUE(communicator.status());
    if (end.rank() == 0) {
      std::vector<float> values(100000);
      CollectiveCall call;
      call.send = call.receive = values.data();
      call.count = values.size();
      ASSERT_TRUE(communicator.enqueue(call, stream));
      call.count = 10;
      ASSERT_TRUE(communicator.enqueue(call, stream));
      communicator.abort();
      ASSERT_TRUE(stream.synchronize());
      EXPECT_THAT(communicator.status().error().message, HasSubstr("was ended"));
    }
  });
}

TEST(PeerCommunicator, SaysWhatItCannotDo) {
  with_peers(1, [](ThreadTeam::End&, Communicator& communicator, Stream& stream) {
    using enum CollectiveOperation;
    const auto why = [&](CollectiveOperation operation, DataType type, Reduction reduction) {
      return communicator.unsupported(operation, type, reduction).value_or("");
    };
    EXPECT_THAT(why(broadcast, DataType::f32, Reduction::sum), HasSubstr("no broadcast"));
    EXPECT_THAT(why(all_reduce, DataType::i32, Reduction::sum), HasSubstr("no sum of i32"));
    EXPECT_THAT(why(all_reduce, DataType::f32, Reduction::max), HasSubstr("no max of f32"));
    EXPECT_EQ(communicator.transfer({}, {}, stream).error().kind, ErrorKind::unsupported);
  });
  const auto device = open_test_device("cpu");
  const auto elsewhere = planned_team({{0, 0, "node-a", 1}, {1, 0, "node-b", 2}});
  const auto made = communicator_kind("peer")->create(*device, *elsewhere, {});
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message, HasSubstr("rank 0 on node-a and rank 1 on node-b are on two"));
}

}  // namespace
}  // namespace assay

// The TCP communicator, every rank a thread with a device of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "advise/selftest/contracts/collective_examples.h"
#include "advise/selftest/contracts/communicator_contract.h"
#include "ranks/collective/tcp_links.h"
#include "ranks/team/rendezvous.h"
#include "ranks/team/thread_team.h"
#include "support/holds.h"
#include "support/test_device.h"

namespace assay {
namespace {

using testing::HasSubstr;

/// Runs `use` on every rank with a TCP communicator among `ranks`.
void with_tcp(int ranks, const std::function<void(ThreadTeam::End&, Communicator&, Stream&)>& use) {
  ThreadTeam team(ranks);
  team.run([&](ThreadTeam::End& end) {
    const auto device = open_test_device("cpu");
    const auto stream = std::move(device->create_stream()).value();
    auto communicator = communicator_kind("tcp")->create(*device, end, {});
    ASSERT_TRUE(communicator) << communicator.error().message;
    use(end, **communicator, *stream);
  });
}

class TcpRanks : public testing::TestWithParam<int> {};

TEST_P(TcpRanks, DoEveryOperationOnEveryType) {
  with_tcp(GetParam(), [](ThreadTeam::End& end, Communicator& communicator, Stream& stream) {
    const auto tally =
        selftest::check_collectives(communicator, stream, end.rank(), end.size(), {0, 1, 7, 31});
    ASSERT_TRUE(holds(tally));
    EXPECT_EQ(tally->refused, 0);
    EXPECT_GT(tally->run, 1000);
    EXPECT_TRUE(holds(selftest::check_messages(communicator, stream, end.rank(), end.size())));
  });
}

TEST_P(TcpRanks, PassLongVectorsOnInPieces) {
  with_tcp(GetParam(), [](ThreadTeam::End& end, Communicator& communicator, Stream& stream) {
    for (int op = 0; op <= static_cast<int>(CollectiveOperation::send_recv); ++op) {
      for (const bool in_place : {false, true}) {
        selftest::CollectiveExample example;
        example.call.operation = static_cast<CollectiveOperation>(op);
        if (in_place && !selftest::has_in_place(example.call.operation)) continue;
        example.call.count = 300007;  // a prime; 2.4 MB, more than all slots of a chain hold
        example.call.type = DataType::f64;
        example.call.root = end.size() - 1;
        example.rank = end.rank();
        example.ranks = end.size();
        example.in_place = in_place;
        EXPECT_TRUE(holds(selftest::check_collective(communicator, stream, example)));
      }
    }
  });
}

TEST_P(TcpRanks, HaveSeveralCommunicatorsAndQueueOnStreams) {
  ThreadTeam team(GetParam());
  team.run([&](ThreadTeam::End& end) {
    const auto device = open_test_device("cpu");
    const auto stream = std::move(device->create_stream()).value();
    const CommunicatorKind kind = communicator_kind("tcp").value();
    EXPECT_TRUE(holds(selftest::check_communicators(kind, *device, end, *stream)));
  });
}

INSTANTIATE_TEST_SUITE_P(OneToFive, TcpRanks, testing::Values(1, 2, 3, 4, 5));

TEST(TcpCommunicator, SaysWhatItIs) {
  with_tcp(1, [](ThreadTeam::End& end, Communicator& communicator, Stream& stream) {
    EXPECT_EQ(communicator.library(), "TCP");
    EXPECT_EQ(communicator.path(), "");
    EXPECT_FALSE(communicator.queues_on_stream());
    const auto why =
        communicator.unsupported(CollectiveOperation::all_reduce, DataType::tf32, Reduction::sum);
    EXPECT_THAT(why.value_or(""), HasSubstr("tf32"));
    CollectiveCall call;
    call.type = DataType::tf32;
    EXPECT_EQ(communicator.run(call, stream).error().kind, ErrorKind::unsupported);
    const auto cpu = open_test_device("cpu");
    EXPECT_GT(communicator_kind("tcp")->score(*cpu, end), 0);
  });
}

/// Ranks that precede a late one must not overwrite what it has not yet taken. 8 MiB are more than
/// the system's buffers and the workspaces hold.
TEST(TcpCommunicator, ALateRankGetsWhatWasMeantForIt) {
  with_tcp(4, [](ThreadTeam::End& end, Communicator& communicator, Stream& stream) {
    for (const auto operation :
         {CollectiveOperation::reduce, CollectiveOperation::reduce_scatter}) {
      selftest::CollectiveExample example;
      example.call.operation = operation;
      example.call.count = 1 << 20;
      example.call.type = DataType::f64;
      example.rank = end.rank();
      example.ranks = end.size();
      ASSERT_TRUE(end.exchange("begin", ""));
      if (end.rank() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1500));
      EXPECT_TRUE(holds(selftest::check_collective(communicator, stream, example)));
    }
  });
}

/// A rank that ends during an operation ends it on all ranks, which name it.
TEST(TcpCommunicator, ALostRankIsNamed) {
  std::atomic<int> errors = 0;
  ThreadTeam team(3);
  team.run([&](ThreadTeam::End& end) {
    auto links = std::move(TcpLinks::connect(end)).value();
    if (end.rank() == 2) {
      links->close();
      return;
    }
    char byte = 0;
    std::vector<pollfd> interests = {links->interest(2, POLLIN)};
    ASSERT_TRUE(links->wait(interests));
    const auto received = links->receive_some(2, &byte, 1);
    ASSERT_FALSE(received);
    EXPECT_EQ(received.error().kind, ErrorKind::failed);
    EXPECT_THAT(received.error().message,
                HasSubstr("lost rank 2 on " + host_name() + ": it closed"));
    ++errors;
  });
  EXPECT_EQ(errors, 2);
}

/// Other ranks exchange no data with the rank that dies, so only the team can report its death.
TEST(TcpCommunicator, ADeadRankEndsTheWaitOfAll) {
  std::atomic<int> errors = 0;
  with_tcp(4, [&](ThreadTeam::End& end, Communicator& communicator, Stream& stream) {
    if (end.rank() == 3) {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      end.die();
      // Its connections stay open, like those of a host that loses power.
      for (int i = 0; i < 1000 && errors < 3; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      }
      return;
    }
    std::vector<float> data(1 << 20);
    CollectiveCall call;
    call.send = call.receive = data.data();
    call.count = data.size();
    const auto started = std::chrono::steady_clock::now();
    const Status status = communicator.run(call, stream);
    ASSERT_FALSE(status);
    EXPECT_THAT(status.error().message, HasSubstr("rank 3 on " + host_name()));
    EXPECT_LT(std::chrono::steady_clock::now() - started, std::chrono::seconds(30));
    ++errors;
  });
  EXPECT_EQ(errors, 3);
}

/// An operation that hangs in a stream's thread ends by abort(), and what is queued behind it does
/// nothing.
TEST(TcpCommunicator, AbortEndsWhatAStreamDoes) {
  with_tcp(2, [&](ThreadTeam::End& end, Communicator& communicator, Stream& stream) {
    if (end.rank() == 0) {
      std::vector<float> data(1 << 20, 1);
      CollectiveCall call;
      call.send = call.receive = data.data();
      call.count = data.size();
      ASSERT_TRUE(communicator.enqueue(call, stream));
      float untouched = 1;
      call.send = call.receive = &untouched;
      call.count = 1;
      ASSERT_TRUE(communicator.enqueue(call, stream));
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      EXPECT_TRUE(communicator.status());  // it waits for rank 1
      communicator.abort();
      ASSERT_TRUE(stream.synchronize());
      const Status status = communicator.status();
      ASSERT_FALSE(status);
      EXPECT_THAT(status.error().message, HasSubstr("lost rank 1"));
      EXPECT_EQ(untouched, 1);
      EXPECT_EQ(communicator.enqueue(call, stream).error().message, status.error().message);
    }
    EXPECT_TRUE(end.exchange("end", ""));
  });
}

TEST(TcpCommunicator, AbortIsSeenByTheOthers) {
  with_tcp(2, [&](ThreadTeam::End& end, Communicator& communicator, Stream& stream) {
    float value = 1;
    CollectiveCall call;
    call.send = call.receive = &value;
    call.count = 1;
    if (end.rank() == 0) {
      communicator.abort();
    } else {
      const Status status = communicator.run(call, stream);
      ASSERT_FALSE(status);
      EXPECT_THAT(status.error().message, HasSubstr("lost rank 0"));
    }
    EXPECT_TRUE(end.exchange("end", ""));  // so rank 1 saw the abort of rank 0, not its end
  });
}

/// Sends the other ranks a false address.
class FalseAddress final : public Team {
 public:
  FalseAddress(Team& real, std::string mine) : real_(real), mine_(std::move(mine)) {}
  int rank() const override { return real_.rank(); }
  const std::string& secret() const override { return real_.secret(); }
  const std::vector<TeamMember>& members() const override { return real_.members(); }
  Result<std::vector<std::string>> exchange(std::string_view step, std::string) override {
    return real_.exchange(step, mine_);
  }
  Status check_alive() override { return real_.check_alive(); }

 private:
  Team& real_;
  std::string mine_;
};

TEST(TcpCommunicator, WhatIsNoAddressIsRefused) {
  ThreadTeam team(2);
  team.run([&](ThreadTeam::End& end) {
    FalseAddress lie(end, end.rank() == 0 ? "+token 70000 boot" : "+token 1 boot");
    const auto links = TcpLinks::connect(lie);
    ASSERT_FALSE(links);
    if (end.rank() == 1) {
      EXPECT_THAT(links.error().message,
                  HasSubstr("rank 0 on " + host_name() + " sent no usable address"));
    }
  });
}

}  // namespace
}  // namespace assay

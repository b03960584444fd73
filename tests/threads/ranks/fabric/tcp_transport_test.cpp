// The TCP transport by itself: peers that go away, messages that do not fit.
#include "ranks/fabric/tcp_transport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <thread>

#include "ranks/team/thread_team.h"

namespace assay {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

class TcpPair : public testing::Test {
 protected:
  void connect(int queues = 1) {
    for (int end = 0; end < 2; ++end) {
      auto made =
          make_tcp_transport({memory[end].data(), memory[end].size(), nullptr}, {.queues = queues});
      ASSERT_TRUE(made);
      ends[end] = std::move(*made);
    }
    const std::string addresses[2] = {ends[0]->address(), ends[1]->address()};
    std::thread other([&] { EXPECT_TRUE(ends[1]->connect(addresses[0], team.rank(1))); });
    EXPECT_TRUE(ends[0]->connect(addresses[1], team.rank(0)));
    other.join();
  }
  Result<std::size_t> poll(int end) { return ends[end]->poll(found, milliseconds(60000)); }

  ThreadTeam team{2};
  std::array<std::array<char, 4096>, 2> memory{};
  std::unique_ptr<Transport> ends[2];
  std::array<FabricCompletion, 8> found;
};

TEST_F(TcpPair, MessagesArriveOnTheirQueue) {
  connect(3);
  memory[0][5] = 'x';
  ASSERT_TRUE(ends[1]->receive(2, 100, 10, 44));
  const FabricRequest send{FabricOperation::send, 5, 0, 1, true, 9};
  ASSERT_TRUE(ends[0]->post(2, {&send, 1}));
  const auto received = poll(1);
  ASSERT_TRUE(received) << received.error().message;
  EXPECT_EQ(found[0].queue, 2);
  EXPECT_EQ(found[0].id, 44u);
  EXPECT_EQ(memory[1][100], 'x');
  ASSERT_TRUE(poll(0));
  EXPECT_EQ(found[0].id, 9u);
}

TEST_F(TcpPair, APeerThatGoesAwayIsAnError) {
  connect();
  ends[1].reset();
  const auto polled = poll(0);
  ASSERT_FALSE(polled);
  EXPECT_THAT(polled.error().message, HasSubstr("ended early"));
}

TEST_F(TcpPair, NothingLandsOutsideTheWindow) {
  connect();
  const FabricRequest outside{FabricOperation::write, 0, 4090, 100, true, 1};
  ASSERT_TRUE(ends[0]->post(0, {&outside, 1}));
  const auto polled = poll(1);
  ASSERT_FALSE(polled);
  EXPECT_THAT(polled.error().message,
              HasSubstr("sent data for a place outside the window on queue 0"));
}

TEST_F(TcpPair, AMessageLargerThanItsReceiveIsAnError) {
  connect();
  ASSERT_TRUE(ends[1]->receive(0, 0, 8, 1));
  const FabricRequest send{FabricOperation::send, 0, 0, 9, true, 1};
  ASSERT_TRUE(ends[0]->post(0, {&send, 1}));
  const auto polled = poll(1);
  ASSERT_FALSE(polled);
  EXPECT_THAT(polled.error().message, HasSubstr("larger than the receive posted for it"));
}

}  // namespace
}  // namespace assay

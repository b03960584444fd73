// The TCP transport alone: strangers, peers that leave, messages that do not fit.
#include "ranks/fabric/tcp_transport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <thread>

#include "held_port.h"
#include "ranks/fabric/tcp_connect.h"
#include "thread_team.h"

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

TEST(TcpConnect, StrangersAreSentAway) {
  ThreadTeam team(2);
  auto first = tcp::listen_here(), second = tcp::listen_here();
  ASSERT_TRUE(first && second);
  // The end with the larger token listens; a stranger connects first.
  const auto& listener = first->address.token < second->address.token ? *second : *first;
  const int stranger = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(listener.address.port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::connect(stranger, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  const std::array<char, 64> rubbish{};
  ASSERT_EQ(::send(stranger, rubbish.data(), rubbish.size(), MSG_NOSIGNAL), 64);
  std::thread other([&] {
    const auto sockets = tcp::connect_pair(*second, first->address, 2, team.rank(1));
    EXPECT_TRUE(sockets) << sockets.error().message;
  });
  const auto sockets = tcp::connect_pair(*first, second->address, 2, team.rank(0));
  other.join();
  ASSERT_TRUE(sockets) << sockets.error().message;
  EXPECT_EQ(sockets->size(), 2u);
  std::array<char, 8> answer;
  EXPECT_LE(::recv(stranger, answer.data(), answer.size(), 0), 0);
  ::close(stranger);
}

TEST(TcpConnect, AWaitEndsWhenTheTeamBreaks) {
  ThreadTeam team(2);
  const auto own = tcp::listen_here();
  ASSERT_TRUE(own);
  tcp::Address nobody = own->address;
  nobody.token = 0;  // so that this end waits for a connection
  team.rank(1).die();
  const auto sockets = tcp::connect_pair(*own, nobody, 1, team.rank(0));
  ASSERT_FALSE(sockets);
  EXPECT_EQ(sockets.error().message, "rank 1 on test-host died");
}

TEST(TcpConnect, NobodyThereNamesWhatWasTried) {
  ThreadTeam team(2);
  const auto own = tcp::listen_here();
  ASSERT_TRUE(own);
  const HeldPort port;
  const tcp::Address nobody{UINT64_MAX, port.number(), "another", {"127.0.0.1"}};
  const auto sockets = tcp::connect_pair(*own, nobody, 1, team.rank(0));
  ASSERT_FALSE(sockets);
  EXPECT_EQ(
      sockets.error().message,
      fmt::format("no answer at port {} of 127.0.0.1: does a firewall block it?", port.number()));
  EXPECT_FALSE(tcp::parse_address("rubbish"));
}

}  // namespace
}  // namespace assay

// Direct connections between ranks, and the greeting they begin with: strangers, lost ranks, ranks
// that are not there.
#include "ranks/team/links.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <chrono>
#include <thread>

#include "core/hash.h"
#include "core/tcp.h"
#include "ranks/team/greeting.h"
#include "ranks/team/network_addresses.h"
#include "ranks/team/pending_callers.h"
#include "ranks/team/thread_team.h"
#include "support/held_port.h"
#include "support/hostile_callers.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// Two connected sockets; the first is the caller's.
struct SocketPair {
  SocketPair() {
    const Descriptor listener = std::move(listen_tcp(0)).value();
    caller = std::move(connect_to("127.0.0.1", tcp_port(listener), 5)).value();
    pollfd file{listener.number(), POLLIN, 0};
    EXPECT_EQ(::poll(&file, 1, 5000), 1);
    called = accept_tcp(listener);
  }
  void say(const std::string& text) const {
    EXPECT_EQ(::send(caller.number(), text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }
  /// What the called end sent that nobody has read.
  std::string heard() const {
    pollfd file{caller.number(), POLLIN, 0};
    EXPECT_EQ(::poll(&file, 1, 5000), 1);
    std::array<char, 2000> text;
    const ssize_t got = ::recv(caller.number(), text.data(), text.size(), 0);
    return {text.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0))};
  }

  Descriptor caller, called;
};

/// Waits until something has arrived on `socket`.
void await(const Descriptor& socket) {
  pollfd file{socket.number(), POLLIN, 0};
  EXPECT_EQ(::poll(&file, 1, 5000), 1);
}

/// The greeting of `calling` and `called`, as far as it goes without waiting.
struct Greeted {
  Result<bool> calling, called;
};
Greeted greet(const SocketPair& pair, Greeting& calling, Greeting& called) {
  EXPECT_FALSE(calling.advance(pair.caller).value());  // its number
  await(pair.called);
  const auto heard = called.advance(pair.called);  // the other number
  if (!heard.ok() || *heard) return {false, heard};
  await(pair.caller);
  const auto requested = calling.advance(pair.caller);
  await(pair.called);
  return {requested, called.advance(pair.called)};
}

TEST(Greeting, BothEndsKnowTheSecretAndTheRequestArrives) {
  const SocketPair pair;
  Greeting calling = Greeting::calling("secret", "link 7");
  Greeting called = Greeting::called("secret");
  EXPECT_EQ(calling.awaits(), POLLOUT);
  EXPECT_TRUE(greet(pair, calling, called).called.value());
  EXPECT_EQ(calling.awaits(), POLLIN);
  EXPECT_EQ(called.request(), "link 7");
  ASSERT_TRUE(called.accept(pair.called));
  // What follows the greeting stays for whoever reads the connection next.
  EXPECT_EQ(::send(pair.called.number(), "data", 4, 0), 4);
  ASSERT_TRUE(finish_greeting(calling, pair.caller, 5));
  EXPECT_EQ(pair.heard(), "data");
}

TEST(Greeting, WhoDoesNotKnowTheSecretIsToldAndRefused) {
  const SocketPair pair;
  Greeting calling = Greeting::calling("guess", "link 7");
  Greeting called = Greeting::called("secret");
  EXPECT_THAT(greet(pair, calling, called).called.error().message, HasSubstr("this run's token"));
  EXPECT_THAT(finish_greeting(calling, pair.caller, 5).error().message, HasSubstr("wrong token"));
  // Who refused has not shown that it knows the secret: it may be a stranger at this address.
  EXPECT_FALSE(calling.refused());
}

TEST(Greeting, ARefusalSaysWhy) {
  const SocketPair pair;
  Greeting calling = Greeting::calling("secret", "link 7");
  Greeting called = Greeting::called("secret");
  EXPECT_TRUE(greet(pair, calling, called).called.value());
  called.refuse(pair.called, "7 is\n\x1b[2Jtaken" + std::string(500, '!'));
  const std::string why = finish_greeting(calling, pair.caller, 5).error().message;
  EXPECT_THAT(why, testing::StartsWith("7 is\\u000a\\u001b[2Jtaken!"));
  EXPECT_LE(why.size(), 200u);
  EXPECT_TRUE(calling.refused());
}

TEST(Greeting, AnotherBuildIsRefusedByName) {
  const SocketPair pair;
  Greeting calling = Greeting::calling("secret", "link 7", "0.0.9 (0123456789ab)");
  Greeting called = Greeting::called("secret");
  const auto both = AllOf(HasSubstr("assay 0.0.9 (0123456789ab)"), HasSubstr(own_build()));
  EXPECT_THAT(greet(pair, calling, called).called.error().message, both);
  EXPECT_THAT(finish_greeting(calling, pair.caller, 5).error().message, both);
  EXPECT_TRUE(calling.refused());  // asking again is useless
}

TEST(Greeting, WhatWasHeardOfOneIsOfNoUseInAnother) {
  const SocketPair pair;
  Greeting called = Greeting::called("secret");
  pair.say(recorded_greeting("secret", "team"));
  EXPECT_THAT(finish_greeting(called, pair.called, 5).error().message,
              HasSubstr("does not know this run's token"));
}

/// A program that sends back what it is sent has not shown that it knows the secret.
TEST(Greeting, AnEchoIsNoAnswer) {
  const SocketPair pair;
  Greeting called = Greeting::calling("secret", "link 7");  // the called end is the one that calls
  EXPECT_FALSE(called.advance(pair.called).value());
  std::string echo = pair.heard();
  echo[8] = 's';  // the kind
  pair.say(echo);
  await(pair.called);
  EXPECT_FALSE(called.advance(pair.called).value());
  echo = pair.heard();
  ASSERT_EQ(echo[8], '?');
  for (const char kind : {'+', '-'}) {
    std::string answer = echo.substr(0, 73) + "0000";
    answer[8] = kind;
    Greeting judged = called;
    pair.say(answer);
    EXPECT_FALSE(finish_greeting(judged, pair.called, 5));
    EXPECT_FALSE(judged.refused()) << kind;
  }
}

TEST(Greeting, OtherProgramsAreFoundByTheirFirstBytes) {
  const std::string zeros(90, '\0');
  for (const std::string& text :
       {std::string("GET / HTTP/1.1\r\n"), std::string("assay/0 ?"), zeros}) {
    const SocketPair pair;
    Greeting called = Greeting::called("secret");
    pair.say(text);
    EXPECT_THAT(finish_greeting(called, pair.called, 5).error().message,
                HasSubstr("not this version of assay"));
  }
  const SocketPair pair;
  Greeting called = Greeting::called("secret");
  pair.say("assay/3 c" + std::string(64, '0') + "9999");
  EXPECT_FALSE(finish_greeting(called, pair.called, 5));
  Greeting eager = Greeting::called("secret");  // a request before the numbers
  const SocketPair other;
  other.say("assay/3 ?" + std::string(64, '0') + "0000");
  EXPECT_THAT(finish_greeting(eager, other.called, 5).error().message,
              HasSubstr("does not know this run's token"));
}

TEST(Greeting, SilenceAndEndsAreErrors) {
  SocketPair pair;
  Greeting called = Greeting::called("secret");
  EXPECT_THAT(finish_greeting(called, pair.called, 0.1).error().message, HasSubstr("says nothing"));
  pair.caller.close();
  EXPECT_THAT(finish_greeting(called, pair.called, 5).error().message,
              HasSubstr("closed the connection"));
}

/// A listener with strangers before it, and what becomes of a caller that knows the secret.
class Crowd {
 public:
  void come(int strangers, const std::string& text = "") {
    for (int i = 0; i < strangers; ++i) {
      auto socket = connect_to("127.0.0.1", tcp_port(listener_), 5);
      ASSERT_TRUE(socket) << socket.error().message;
      if (!text.empty()) {
        ASSERT_GT(::send(socket->number(), text.data(), text.size(), MSG_NOSIGNAL), 0);
      }
      strangers_.push_back(std::move(*socket));
    }
  }
  /// Seconds until one that comes now has been accepted.
  double let_one_in() {
    std::thread caller([&] {
      const auto socket = connect_to("127.0.0.1", tcp_port(listener_), 5);
      ASSERT_TRUE(socket);
      Greeting greeting = Greeting::calling("secret", "me");
      const Status greeted = finish_greeting(greeting, *socket, 30);
      EXPECT_TRUE(greeted) << greeted.error().message;
    });
    const auto begin = std::chrono::steady_clock::now();
    bool here = false;
    std::chrono::duration<double> spent{0};
    while (!here && spent.count() < 60) {
      std::vector<pollfd> files;
      reception_.add_interests(files);
      most_files_ = std::max(most_files_, files.size());
      ::poll(files.data(), files.size(), 100);
      for (Reception::Caller& known : reception_.greet()) {
        EXPECT_EQ(known.greeting.request(), "me");
        here = known.greeting.accept(known.socket).ok();
      }
      spent = std::chrono::steady_clock::now() - begin;
    }
    caller.join();
    return spent.count();
  }
  std::size_t most_files() const { return most_files_; }

 private:
  const Descriptor listener_ = std::move(listen_tcp(0)).value();
  Reception reception_{listener_, "secret"};
  std::vector<Descriptor> strangers_;
  std::size_t most_files_ = 0;
};

TEST(Reception, SilentCallersKeepNobodyWaiting) {
  Crowd crowd;
  crowd.come(40);
  EXPECT_LT(crowd.let_one_in(), 5);  // one after the other they took 2 s each
}

TEST(Reception, AFloodIsBoundedAndPasses) {
  Crowd crowd;
  crowd.come(200);
  crowd.come(200, "assay/3 c" + std::string(64, '0') + "0000");  // then silent
  crowd.come(200, "assay/3 c0");
  EXPECT_LT(crowd.let_one_in(), 15);
  EXPECT_LE(crowd.most_files(), 257u);  // with the listener
}

/// Two ranks' listeners, the one that calls first.
std::array<LinkListener, 2> two_listeners() {
  std::array<LinkListener, 2> both = {std::move(LinkListener::open()).value(),
                                      std::move(LinkListener::open()).value()};
  both[0].address.name = std::string(32, '0');
  return both;
}

TEST(Links, EveryRankGetsItsConnectionsInOrder) {
  constexpr int ranks = 5, count = 3;
  ThreadTeam team(ranks);
  team.run([&](ThreadTeam::End& end) {
    auto own = LinkListener::open();
    ASSERT_TRUE(own);
    const auto all = end.exchange("addresses", to_text(own->address));
    ASSERT_TRUE(all);
    std::vector<LinkPeer> peers;
    std::vector<int> theirs;
    for (int rank = 0; rank < ranks; ++rank) {
      if (rank == end.rank()) continue;
      theirs.push_back(rank);
      peers.push_back({"", parse_link_address((*all)[static_cast<std::size_t>(rank)]).value()});
    }
    const auto sockets = connect_links(std::move(*own), peers, count, end);
    ASSERT_TRUE(sockets) << sockets.error().message;
    for (std::size_t peer = 0; peer < peers.size(); ++peer) {
      for (std::size_t i = 0; i < count; ++i) {
        const std::array<int, 2> mine = {end.rank(), static_cast<int>(i)};
        EXPECT_EQ(::send((*sockets)[peer][i].number(), mine.data(), sizeof(mine), 0), 8);
      }
    }
    for (std::size_t peer = 0; peer < peers.size(); ++peer) {
      for (std::size_t i = 0; i < count; ++i) {
        pollfd file{(*sockets)[peer][i].number(), POLLIN, 0};
        ASSERT_EQ(::poll(&file, 1, 5000), 1);
        std::array<int, 2> heard = {};
        EXPECT_EQ(::recv(file.fd, heard.data(), sizeof(heard), MSG_WAITALL), 8);
        EXPECT_EQ(heard, (std::array{theirs[peer], static_cast<int>(i)}));
      }
    }
  });
}

TEST(Links, StrangersAreSentAway) {
  ThreadTeam team(2);
  auto both = two_listeners();
  const std::array addresses = {both[0].address, both[1].address};
  // Two strangers are there first: one talks nonsense, one is silent.
  const auto rude = connect_to("127.0.0.1", addresses[1].port, 5);
  const auto silent = connect_to("127.0.0.1", addresses[1].port, 5);
  ASSERT_TRUE(rude && silent);
  ASSERT_EQ(::send(rude->number(), "rubbish, and more of it", 23, MSG_NOSIGNAL), 23);
  team.run([&](ThreadTeam::End& end) {
    const auto me = static_cast<std::size_t>(end.rank());
    const LinkPeer other = {"the other", addresses[1 - me]};
    const auto sockets = connect_links(std::move(both[me]), {&other, 1}, 2, end);
    ASSERT_TRUE(sockets) << sockets.error().message;
    EXPECT_EQ(sockets->front().size(), 2u);
  });
  std::array<char, 8> answer;
  pollfd file{rude->number(), POLLIN, 0};
  EXPECT_EQ(::poll(&file, 1, 5000), 1);
  EXPECT_LE(::recv(rude->number(), answer.data(), answer.size(), 0), 0);
}

/// Callers of every kind, before two ranks connect and while they do.
TEST(Links, HostileCallersDisturbNobody) {
  ThreadTeam team(2);
  auto both = two_listeners();
  const std::array addresses = {both[0].address, both[1].address};
  std::atomic<bool> done = false;
  std::atomic<int> made = 0;
  std::vector<std::thread> strangers;
  for (const LinkAddress& address : addresses) {
    strangers.emplace_back([&] {
      HostileCallers callers(hmac_sha256_hex(team.rank(0).secret(), "link " + address.name),
                             "link " + addresses[0].name + " 0");
      while (!done && callers.call(address.port)) made = std::max<int>(made, callers.made());
    });
  }
  const auto begin = std::chrono::steady_clock::now();
  team.run([&](ThreadTeam::End& end) {
    while (made < 300) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    const auto me = static_cast<std::size_t>(end.rank());
    const LinkPeer other = {"the other", addresses[1 - me]};
    const auto sockets = connect_links(std::move(both[me]), {&other, 1}, 3, end);
    ASSERT_TRUE(sockets) << sockets.error().message;
    for (const Descriptor& socket : sockets->front()) {  // it leads to the other rank
      EXPECT_EQ(::send(socket.number(), "rank", 4, 0), 4);
      await(socket);
      std::array<char, 8> heard = {};
      EXPECT_EQ(::recv(socket.number(), heard.data(), heard.size(), 0), 4);
    }
  });
  done = true;
  for (std::thread& stranger : strangers) stranger.join();
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(), 60);
}

/// A rank of this run, with the right token, whose connection nobody waits for.
TEST(Links, AnUnexpectedCallerIsRefused) {
  ThreadTeam team(2);
  auto both = two_listeners();
  const std::array addresses = {both[0].address, both[1].address};
  std::atomic<bool> refused = false;
  std::thread intruder([&] {
    const auto socket = connect_to("127.0.0.1", addresses[1].port, 5);
    Greeting greeting = Greeting::calling(
        hmac_sha256_hex(team.rank(0).secret(), "link " + addresses[1].name), "link of nobody");
    EXPECT_THAT(finish_greeting(greeting, *socket, 10).error().message,
                HasSubstr("nobody waits for this connection"));
    refused = greeting.refused();
  });
  team.run([&](ThreadTeam::End& end) {
    const auto me = static_cast<std::size_t>(end.rank());
    while (me == 0 && !refused) std::this_thread::yield();
    const LinkPeer other = {"the other", addresses[1 - me]};
    EXPECT_TRUE(connect_links(std::move(both[me]), {&other, 1}, 1, end));
  });
  intruder.join();
}

TEST(Links, AWaitEndsWhenTheTeamBreaks) {
  ThreadTeam team(2);
  auto both = two_listeners();
  team.rank(0).die();
  const LinkPeer caller = {"the caller", both[0].address};
  const auto sockets = connect_links(std::move(both[1]), {&caller, 1}, 1, team.rank(1));
  ASSERT_FALSE(sockets);
  EXPECT_EQ(sockets.error().message, name_of(own_place(team.rank(0))) + " died");
}

/// A listener there that is no rank: the caller names all that it tried.
TEST(Links, NobodyThereNamesWhatWasTried) {
  ThreadTeam team(2);
  auto both = two_listeners();
  const Descriptor deaf = std::move(listen_tcp(0)).value();
  const int port = tcp_port(deaf);
  std::atomic<bool> given_up = false;
  std::thread stranger([&] {
    while (!given_up) {
      pollfd file{deaf.number(), POLLIN, 0};
      if (::poll(&file, 1, 100) != 1) continue;
      const Descriptor caller = accept_tcp(deaf);
      (void)::send(caller.number(), "HTTP/1.1 400 Bad Request\r\n", 26, MSG_NOSIGNAL);
      file.fd = caller.number();
      ::poll(&file, 1, 5000);  // until the caller has gone
      std::array<char, 200> rest;
      while (::recv(caller.number(), rest.data(), rest.size(), 0) > 0) {
      }
    }
  });
  const LinkPeer nobody = {"rank 1 on node-b",
                           {std::string(32, 'f'), port, "another", {"127.0.0.1"}}};
  const auto sockets = connect_links(std::move(both[0]), {&nobody, 1}, 1, team.rank(0));
  given_up = true;
  stranger.join();
  ASSERT_FALSE(sockets);
  EXPECT_THAT(sockets.error().message,
              AllOf(HasSubstr("cannot reach rank 1 on node-b: tried 127.0.0.1 on port"),
                    HasSubstr(std::to_string(port))));
  const LinkPeer nowhere = {"rank 1 on node-b", {std::string(32, 'f'), port, "another", {}}};
  EXPECT_THAT(connect_links(std::move(both[1]), {&nowhere, 1}, 1, team.rank(0)).error().message,
              HasSubstr("tried none, because it has no address"));
}

TEST(Links, AddressesAsText) {
  const LinkAddress address = {"cafe", 4711, "boot", {"10.0.0.1", "fd00::2"}};
  const LinkAddress back = parse_link_address(to_text(address)).value();
  EXPECT_EQ(to_text(back), "cafe 4711 boot 10.0.0.1 fd00::2");
  // Only what can be an address is called, and shown.
  const LinkAddress odd =
      parse_link_address("cafe 4711 boot 10.0.0.1 host\x1b[2J " + std::string(46, '1')).value();
  EXPECT_EQ(to_text(odd), "cafe 4711 boot 10.0.0.1");
  for (const char* text : {"", "cafe", "cafe 0 boot", "cafe 70000 boot", "cafe x boot", "cafe 7"}) {
    EXPECT_FALSE(parse_link_address(text)) << text;
  }
}

TEST(Tcp, ListensOnBothFamiliesOrOnLoopbackOnly) {
  const Descriptor everywhere = std::move(listen_tcp(0)).value();
  const Descriptor local = std::move(listen_tcp(0, true)).value();
  EXPECT_TRUE(connect_to("127.0.0.1", tcp_port(everywhere), 5));
  EXPECT_TRUE(connect_to("localhost", tcp_port(local), 5));
  for (const NetworkAddress& own : own_networks()) {
    EXPECT_TRUE(connect_to(own.text, tcp_port(everywhere), 5)) << own.text;
    EXPECT_FALSE(connect_to(own.text, tcp_port(local), 5)) << own.text;
  }
  const auto taken = listen_tcp(tcp_port(everywhere));
  ASSERT_FALSE(taken);
  EXPECT_THAT(taken.error().message, HasSubstr("in use"));
  EXPECT_FALSE(begin_connect("localhost", 1));
  const auto socket = connect_to("127.0.0.1", tcp_port(local), 5);
  EXPECT_EQ(tcp_peer(*socket), "127.0.0.1:" + std::to_string(tcp_port(local)));
  EXPECT_EQ(tcp_peer(Descriptor()), "");
}

/// Listens at `address` and `port`. With `full`, its queue is full: further calls get no answer.
std::vector<Descriptor> listener_at(const char* address, int port, bool full) {
  std::vector<Descriptor> sockets;
  sockets.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  ::setsockopt(sockets[0].number(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  sockaddr_in place = {};
  place.sin_family = AF_INET;
  place.sin_port = htons(static_cast<std::uint16_t>(port));
  EXPECT_EQ(::inet_pton(AF_INET, address, &place.sin_addr), 1);
  EXPECT_EQ(::bind(sockets[0].number(), reinterpret_cast<sockaddr*>(&place), sizeof(place)), 0);
  EXPECT_EQ(::listen(sockets[0].number(), 0), 0);
  for (int i = 0; full && i < 4; ++i)
    sockets.push_back(std::move(begin_connect(address, port)).value());
  return sockets;
}

TEST(Tcp, AnAddressThatDoesNotAnswerHoldsUpNoOther) {
  const HeldPort port;
  const auto full = listener_at("127.0.0.1", port.number(), true);
  const auto good = listener_at("127.0.0.2", port.number(), false);
  const auto seconds_since = [](std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  std::vector<std::string> addresses(5, "127.0.0.1");
  addresses.push_back("127.0.0.2");
  auto begin = std::chrono::steady_clock::now();
  const auto found = connect_to_first(addresses, port.number(), 20);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(tcp_peer(*found), "127.0.0.2:" + std::to_string(port.number()));
  EXPECT_LT(seconds_since(begin), 20);

  begin = std::chrono::steady_clock::now();
  const auto none = connect_to_first(std::vector<std::string>(20, "127.0.0.1"), port.number(), 1);
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("no answer within 1 s"));
  EXPECT_LT(seconds_since(begin), 10);

  const auto refused = connect_to_first(std::vector<std::string>{"127.0.0.3"}, port.number(), 20);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("refused"));
}

}  // namespace
}  // namespace assay

// Ranks as threads of one process, over real sockets: what they say to each other, and what each
// learns of one that dies, stays away or hangs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <latch>
#include <mutex>
#include <optional>
#include <thread>

#include "core/tcp.h"
#include "ranks/team/addresses.h"
#include "ranks/team/agreement.h"
#include "ranks/team/greeting.h"
#include "ranks/team/tcp_team.h"
#include "support/held_port.h"

namespace assay {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Clock = std::chrono::steady_clock;

constexpr const char* token = "0123";
/// Bound on waits that end much earlier unless something hangs.
constexpr double hang_seconds = 60;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Runs `body` as every rank of a team, each in a thread of its own.
void with_team(int size, const TeamPatience& patience, const std::function<void(Team&)>& body) {
  const auto listener = listen_for_ranks(0);
  ASSERT_TRUE(listener.ok());
  const std::string address = format_addresses({"127.0.0.1"}, tcp_port(*listener));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      auto gathering = rank == 0 ? receive_ranks(*listener, size, token, 10, [] { return false; })
                                 : join_rank_0(address, rank, size, token, 10);
      ASSERT_TRUE(gathering.ok()) << gathering.error().message;
      const auto team = make_tcp_team(std::move(*gathering), rank, patience, nullptr);
      body(*team);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Team, ExchangeGivesAllRanksWhatEachGaveInRankOrder) {
  with_team(4, {}, [](Team& team) {
    for (int i = 0; i < 50; ++i) {
      const auto given = team.exchange("greeting", std::to_string(team.rank() * 100 + i));
      ASSERT_TRUE(given.ok()) << given.error().message;
      EXPECT_THAT(*given, ElementsAre(std::to_string(i), std::to_string(100 + i),
                                      std::to_string(200 + i), std::to_string(300 + i)));
    }
    EXPECT_EQ(team.size(), 4);
    EXPECT_EQ(own_place(team).rank, team.rank());
    EXPECT_EQ(own_place(team).local_rank, team.rank());  // all on one host
  });
}

TEST(Team, LargeTextsAndEmptyOnesPass) {
  with_team(3, {}, [](Team& team) {
    const std::string mine = team.rank() == 1
                                 ? std::string()
                                 : std::string(3000000, static_cast<char>('a' + team.rank()));
    const auto given = team.exchange("large", mine);
    ASSERT_TRUE(given.ok()) << given.error().message;
    EXPECT_EQ((*given)[0], std::string(3000000, 'a'));
    EXPECT_EQ((*given)[1], "");
    EXPECT_EQ((*given)[2], std::string(3000000, 'c'));
  });
}

TEST(Team, AllAgreeOnTheFirstErrorAndItsRank) {
  with_team(3, {}, [](Team& team) {
    EXPECT_TRUE(agree(team, "trying", {}).ok());
    const Status mine =
        team.rank() == 0
            ? Status()
            : Status(Error{ErrorKind::exhausted, "no memory on " + std::to_string(team.rank())});
    const Status all = agree(team, "trying again", mine);
    ASSERT_FALSE(all.ok());
    EXPECT_EQ(all.error().kind, ErrorKind::exhausted);
    EXPECT_THAT(all.error().message, AllOf(HasSubstr("rank 1 on "), HasSubstr("no memory on 1")));
    EXPECT_EQ(agree(team, "once more", all).error().message, all.error().message);
    EXPECT_EQ(*from_rank_0(team, "telling", std::to_string(team.rank())), "0");
  });
}

TEST(Team, AnErrorTakesPrecedenceOverASilence) {
  with_team(3, {}, [](Team& team) {
    const Error errors[] = {{ErrorKind::silence, "nothing from rank 1"},
                            {ErrorKind::failed, "the cable is out"},
                            {ErrorKind::silence, "nothing from rank 1"}};
    const Status all = agree(team, "sending", errors[team.rank()]);
    EXPECT_THAT(all.error().message, AllOf(HasSubstr("rank 1 on "), HasSubstr("cable is out")));
    const Status silent = team.rank() == 1 ? Status() : Status(errors[team.rank()]);
    EXPECT_THAT(agree(team, "sending again", silent).error().message,
                AllOf(HasSubstr("rank 0 on "), HasSubstr("nothing from rank 1")));
  });
}

TEST(Team, WhoStaysAwayIsNamedOnAllRanks) {
  TeamPatience patience;
  patience.step_seconds = 1;
  std::latch given_up(2);  // by ranks 0 and 1
  with_team(3, patience, [&](Team& team) {
    ASSERT_TRUE(team.exchange("first", "").ok());
    if (team.rank() == 2) given_up.wait();
    const auto given = team.exchange("second", "");
    if (team.rank() != 2) given_up.count_down();
    ASSERT_FALSE(given.ok());
    EXPECT_THAT(given.error().message,
                AllOf(HasSubstr("rank 2 on "), HasSubstr("did not reach \"second\"")));
    EXPECT_FALSE(team.check_alive().ok());
  });
}

/// Rank 1 has not come either, but says that it waits for its device: for the one who stays away.
TEST(Team, WhoWaitsElsewhereIsNotNamedWithWhomItWaitsFor) {
  TeamPatience patience;
  patience.step_seconds = 4;  // for rank 0; rank 1 begins later, and reports it within a second
  std::latch given_up(1);
  with_team(3, patience, [&](Team& team) {
    ASSERT_TRUE(team.exchange("first", "").ok());
    if (team.rank() == 1) {
      std::this_thread::sleep_for(std::chrono::seconds(1));
      while (team.check_alive().ok()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
      return;
    }
    if (team.rank() == 2) return given_up.wait();
    const auto given = team.exchange("second", "");
    given_up.count_down();
    ASSERT_FALSE(given.ok());
    EXPECT_THAT(given.error().message,
                AllOf(HasSubstr("rank 2 on "), Not(HasSubstr("rank 1 on "))));
  });
}

TEST(Team, AWaitElsewhereHasADeadlineToo) {
  TeamPatience patience;
  patience.step_seconds = 1;
  with_team(2, patience, [](Team& team) {
    ASSERT_TRUE(team.exchange("first", "").ok());
    const auto begin = Clock::now();
    Status whole;
    while ((whole = team.check_alive()).ok() && seconds_since(begin) < hang_seconds) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    ASSERT_FALSE(whole.ok());
    EXPECT_THAT(whole.error().message, HasSubstr("for its device or library after \"first\""));
  });
}

/// Many waits in a row may take longer than one is allowed to, if each of them ends.
TEST(Team, AWaitThatEndedDoesNotCountForTheNext) {
  TeamPatience patience;
  patience.step_seconds = 0.05;
  std::latch waited(1);
  with_team(2, patience, [&](Team& team) {
    if (team.rank() == 1) return waited.wait();
    for (int i = 0; i < 3; ++i) {
      EXPECT_TRUE(team.check_alive().ok());
      std::this_thread::sleep_for(std::chrono::milliseconds(75));
      team.end_wait();
    }
    EXPECT_TRUE(team.check_alive().ok());
    waited.count_down();
  });
}

TEST(Team, OwnWorkBetweenTwoPollsIsNotWaiting) {
  TeamPatience patience;
  patience.step_seconds = 2.1;  // just above the pause that ends a wait
  with_team(2, patience, [](Team& team) {
    ASSERT_TRUE(team.check_alive().ok());
    std::this_thread::sleep_for(std::chrono::milliseconds(2200));  // preparing, for instance
    EXPECT_TRUE(team.check_alive().ok());
  });
}

/// Rank 0's team with one other rank that behaves as `other` says, and what rank 0 then learns.
std::string learned_of(const TeamPatience& patience,
                       const std::function<void(Gathering, const std::latch& learned)>& other) {
  const auto listener = listen_for_ranks(0);
  std::latch learned(1);
  std::thread second([&] {
    auto gathering =
        join_rank_0(format_addresses({"127.0.0.1"}, tcp_port(*listener)), 1, 2, token, 10);
    if (gathering.ok()) other(std::move(*gathering), learned);
  });
  auto gathering = receive_ranks(*listener, 2, token, 10, [] { return false; });
  std::string message;
  if (gathering.ok()) {
    const auto team = make_tcp_team(std::move(*gathering), 0, patience, nullptr);
    const auto given = team->exchange("waiting", "");
    message = given.ok() ? "" : given.error().message;
  }
  learned.count_down();
  second.join();
  return message;
}

TEST(Team, ADeadRankIsKnownAtOnce) {
  const auto begin = Clock::now();
  TeamPatience patience;
  patience.silence_seconds = patience.step_seconds = 10 * hang_seconds;
  EXPECT_THAT(learned_of(patience, [](Gathering, const std::latch&) {}),
              AllOf(HasSubstr("rank 1 on "), HasSubstr("ended unexpectedly")));
  EXPECT_LT(seconds_since(begin), hang_seconds);
}

TEST(Team, ASilentRankIsKnownWithinSeconds) {
  TeamPatience patience;
  patience.silence_seconds = 1.5;
  EXPECT_THAT(
      learned_of(patience, [](const Gathering&, const std::latch& learned) { learned.wait(); }),
      AllOf(HasSubstr("rank 1 on "), HasSubstr("has not been heard from")));
}

/// What `wait` of rank 0 learns of two ranks that both say that they wait, the second of them once.
template <typename Wait>
std::string learned_of_waiting_ranks(const Wait& wait) {
  const auto listener = listen_for_ranks(0);
  EXPECT_TRUE(listener.ok());
  std::atomic<bool> learned = false;
  std::vector<std::thread> others;
  for (const int rank : {1, 2}) {
    others.emplace_back([&, rank] {
      auto gathering = join_rank_0(format_addresses({"127.0.0.1"}, tcp_port(*listener)), rank, 3,
                                   token, hang_seconds);
      ASSERT_TRUE(gathering.ok()) << gathering.error().message;
      std::string alive;  // count, step, and that it waits
      put(alive, std::uint64_t{1});
      put(alive, "sampling");
      put(alive, std::uint64_t{1});
      do {
        EXPECT_TRUE(gathering->wires[0]->send('a', alive).ok());
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
      } while (rank == 1 && !learned);
      while (!learned) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    });
  }
  auto gathering = receive_ranks(*listener, 3, token, hang_seconds, [] { return false; });
  EXPECT_TRUE(gathering.ok());
  TeamPatience patience;
  patience.step_seconds = 0.5;
  patience.silence_seconds = 10 * hang_seconds;
  std::string message;
  if (gathering.ok()) {
    const auto team = make_tcp_team(std::move(*gathering), 0, patience, nullptr);
    message = wait(*team).error().message;
  }
  learned = true;
  for (std::thread& other : others) other.join();
  return message;
}

/// It is silent only some time after rank 0 has lost its patience.
TEST(Team, OfRanksThatWaitTheOneThatStopsIsNamed) {
  EXPECT_THAT(learned_of_waiting_ranks([](Team& team) -> Status {
                while (true) {
                  TRY(team.check_alive());
                  std::this_thread::sleep_for(std::chrono::milliseconds(5));
                }
              }),
              AllOf(HasSubstr("rank 0 on "), HasSubstr("; rank 2 on "), HasSubstr("heard from")));
  EXPECT_THAT(
      learned_of_waiting_ranks([](Team& team) -> Status {
        TRY(team.exchange("sampling", ""));
        return {};
      }),
      AllOf(HasSubstr("rank 2 on "), HasSubstr("did not reach"), Not(HasSubstr("rank 1 "))));
}

TEST(Team, RanksAtDifferentStepsAreNamed) {
  with_team(2, {}, [](Team& team) {
    const auto given = team.exchange(team.rank() == 0 ? "this" : "that", "");
    // Rank 0 may answer this step before it compares the names, but no later one.
    if (!given.ok()) EXPECT_THAT(given.error().message, HasSubstr("is at \"that\""));
    const auto more = team.exchange(team.rank() == 0 ? "this" : "that", "");
    EXPECT_FALSE(given.ok() && more.ok());
  });
}

TEST(Team, ARankThatHangsInACallIsAbandoned) {
  const auto listener = listen_for_ranks(0);
  ASSERT_TRUE(listener.ok());
  TeamPatience patience;
  patience.last_seconds = 0.2;
  std::thread second([&] {
    const auto gathering =
        join_rank_0(format_addresses({"127.0.0.1"}, tcp_port(*listener)), 1, 2, token, 10);
    EXPECT_TRUE(gathering.ok());
  });
  auto gathering = receive_ranks(*listener, 2, token, 10, [] { return false; });
  second.join();
  ASSERT_TRUE(gathering.ok());
  std::promise<void> abandoned;
  std::once_flag first;  // it is called repeatedly, because here it does not end the process
  const auto team = make_tcp_team(std::move(*gathering), 0, patience, [&](const Error& error) {
    EXPECT_THAT(error.message, HasSubstr("ended unexpectedly"));
    std::call_once(first, [&] { abandoned.set_value(); });
  });
  // Waiting here stands for a call that nothing ends.
  EXPECT_EQ(abandoned.get_future().wait_for(std::chrono::duration<double>(hang_seconds)),
            std::future_status::ready);
}

TEST(Rendezvous, StrangersAreTurnedAwayAndLateRanksNamed) {
  const auto listener = listen_for_ranks(0);
  ASSERT_TRUE(listener.ok());
  const std::string address = format_addresses({"127.0.0.1"}, tcp_port(*listener));
  std::atomic<bool> turned_away = false;
  std::thread ranks([&] {
    // A rank cannot tell who refuses it, and asks until its time is over.
    EXPECT_THAT(join_rank_0(address, 1, 3, "wrong", 0.3).error().message, HasSubstr("wrong token"));
    EXPECT_THAT(join_rank_0(address, 1, 4, token, 5).error().message,
                HasSubstr("this run has 3 ranks, not 4"));
    EXPECT_THAT(join_rank_0(address, 3, 3, token, 5).error().message,
                HasSubstr("rank 3 is not allowed; allowed: 1 to 2"));
    turned_away = true;
    EXPECT_FALSE(join_rank_0(address, 2, 3, token, 5).ok());  // rank 0 gives up
  });
  // It gives up two seconds after the last stranger, when rank 2 has come.
  std::optional<Clock::time_point> last_stranger;
  const auto gathering = receive_ranks(*listener, 3, token, hang_seconds, [&] {
    if (turned_away && !last_stranger) last_stranger = Clock::now();
    return last_stranger && seconds_since(*last_stranger) > 2;
  });
  ASSERT_FALSE(gathering.ok());
  EXPECT_EQ(gathering.error().message, "2 of 3 ranks connected; missing: rank 1");
  const auto late = receive_ranks(*listener, 2, token, 0.6, [] { return false; });
  EXPECT_EQ(late.error().message, "1 of 2 ranks connected within 1 s; missing: rank 1");
  ranks.join();
}

/// A caller that knows the token asks rank 0 to let in a rank, and keeps the connection.
struct Applicant {
  Applicant(const Descriptor& listener, int rank, int size, const std::string& host)
      : socket(std::move(connect_to("127.0.0.1", tcp_port(listener), 5)).value()) {
    std::string request = "team ";
    for (const int number : {rank, size, 1}) put(request, static_cast<std::uint64_t>(number));
    put(request, host);
    Greeting greeting = Greeting::calling(token, request);
    const Status greeted = finish_greeting(greeting, socket, hang_seconds);
    if (!greeted.ok()) refusal = greeted.error().message;
  }
  Descriptor socket;
  std::string refusal;  ///< empty: it was let in
};

/// Not even one that knows the token.
TEST(Rendezvous, NobodyTakesAPlaceThatIsTaken) {
  const auto listener = listen_for_ranks(0);
  ASSERT_TRUE(listener.ok());
  std::thread ranks([&] {
    const Applicant first(*listener, 1, 3, "node-a"), second(*listener, 1, 3, "node-b");
    EXPECT_EQ(first.refusal, "");
    EXPECT_EQ(second.refusal, "there is a rank 1 already, on node-a");
    EXPECT_EQ(Applicant(*listener, 2, 3, "node-c").refusal, "");
  });
  const auto gathering = receive_ranks(*listener, 3, token, hang_seconds, [] { return false; });
  ranks.join();
  ASSERT_TRUE(gathering.ok()) << gathering.error().message;
  EXPECT_EQ(gathering->members[1].host, "node-a");
  EXPECT_EQ(gathering->members[2].host, "node-c");
}

TEST(Rendezvous, AHostsNameIsFitToBeShown) {
  const auto listener = listen_for_ranks(0);
  ASSERT_TRUE(listener.ok());
  std::thread rank([&] {
    const Applicant odd(*listener, 1, 2, "no\x1b[2Jde\n" + std::string(800, 'x'));
    EXPECT_EQ(odd.refusal, "");
  });
  const auto gathering = receive_ranks(*listener, 2, token, hang_seconds, [] { return false; });
  rank.join();
  ASSERT_TRUE(gathering.ok()) << gathering.error().message;
  const std::string host = gathering->members[1].host;
  EXPECT_THAT(host, testing::StartsWith("no\\u001b[2Jde\\u000axxx"));
  EXPECT_EQ(host.size(), 255u);
}

TEST(Team, WhatARankSaysIsFitToBeShown) {
  const std::string sent = "\x1b]0;all is well\a" + std::string(10000, '!');
  EXPECT_THAT(
      learned_of({},
                 [&](Gathering gathering, const std::latch& learned) {
                   EXPECT_TRUE(gathering.wires[0]->send('t', sent).ok());
                   learned.wait();
                 }),
      AllOf(testing::StartsWith("\\u001b]0;all is well\\u0007!!!"), testing::SizeIs(most_message)));
  const Status status = status_from_text(to_text(Error{ErrorKind::failed, sent}));
  EXPECT_EQ(status.error().kind, ErrorKind::failed);
  EXPECT_THAT(status.error().message, testing::StartsWith("\\u001b]0;all is well"));
  EXPECT_EQ(status.error().message.size(), most_message);
}

TEST(Rendezvous, GivesUpWhenTheRestCannotCome) {
  const auto listener = listen_for_ranks(0);
  ASSERT_TRUE(listener.ok());
  const auto begin = Clock::now();
  EXPECT_FALSE(receive_ranks(*listener, 2, token, 10 * hang_seconds, [] { return true; }).ok());
  EXPECT_LT(seconds_since(begin), hang_seconds);
}

TEST(Rendezvous, AnUnreachableRank0IsNamed) {
  const HeldPort port;
  const std::string address = format_addresses({"127.0.0.1"}, port.number());
  const auto gathering = join_rank_0(address, 1, 2, token, 0.3);
  ASSERT_FALSE(gathering.ok());
  EXPECT_THAT(gathering.error().message,
              AllOf(HasSubstr("rank 1 cannot reach rank 0 at " + address), HasSubstr("refused")));
  EXPECT_FALSE(join_rank_0("nonsense", 1, 2, token, 0.3).ok());
}

TEST(Addresses, TextAndBack) {
  const std::string text = format_addresses({"10.0.0.1", "fd00::2"}, 29500);
  EXPECT_EQ(text, "10.0.0.1:29500,[fd00::2]:29500");
  EXPECT_THAT(parse_addresses(text + ",broken,a:0,b:99999"),
              ElementsAre(std::pair<std::string, int>("10.0.0.1", 29500),
                          std::pair<std::string, int>("fd00::2", 29500)));
  EXPECT_FALSE(own_addresses().empty());
}

TEST(Wire, TruncatedPayloadsReadAsEmpty) {
  std::string payload;
  put(payload, std::uint64_t{7});
  put(payload, "text");
  PayloadReader whole(payload);
  EXPECT_EQ(whole.number(), 7u);
  EXPECT_EQ(whole.text(), "text");
  EXPECT_TRUE(whole.ok());
  for (std::size_t length = 0; length < payload.size(); ++length) {
    PayloadReader broken(std::string_view(payload).substr(0, length));
    broken.number();
    EXPECT_EQ(broken.text(), "");
    EXPECT_FALSE(broken.ok());
  }
}

}  // namespace
}  // namespace assay

// Teams of threads, and parts of a team.
#include "ranks/team/thread_team.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>

#include "ranks/team/agreement.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(ThreadTeam, ExchangeGivesAllRanksWhatEachGave) {
  ThreadTeam team(4);
  team.run([](ThreadTeam::End& end) {
    for (int i = 0; i < 200; ++i) {
      const auto given = end.exchange("greeting", std::to_string(end.rank() * 1000 + i));
      ASSERT_TRUE(given) << given.error().message;
      EXPECT_THAT(*given, ElementsAre(std::to_string(i), std::to_string(1000 + i),
                                      std::to_string(2000 + i), std::to_string(3000 + i)));
    }
    EXPECT_EQ(own_place(end).local_rank, end.rank());
    EXPECT_TRUE(end.check_alive());
    EXPECT_EQ(from_rank_0(end, "telling", std::to_string(end.rank())).value(), "0");
  });
}

TEST(ThreadTeam, WhoStaysAwayIsNamed) {
  ThreadTeam team(3, 0.2);
  team.run([](ThreadTeam::End& end) {
    if (end.rank() == 2) std::this_thread::sleep_for(std::chrono::seconds(1));
    const auto given = end.exchange("sampling", "");
    ASSERT_FALSE(given);
    EXPECT_THAT(given.error().message,
                AllOf(HasSubstr("rank 2 on "), HasSubstr("did not reach \"sampling\"")));
    EXPECT_FALSE(end.check_alive());
  });
}

TEST(ThreadTeam, WhoHasLeftIsNotWaitedFor) {
  ThreadTeam team(3);
  const auto begin = std::chrono::steady_clock::now();
  team.run([](ThreadTeam::End& end) {
    if (end.rank() == 1) return;
    EXPECT_THAT(end.exchange("sampling", "").error().message,
                AllOf(HasSubstr("rank 1 on "), HasSubstr("left before \"sampling\"")));
  });
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
}

/// Many waits in a row may take longer than one is allowed to, if each of them ends.
TEST(ThreadTeam, AWaitThatEndedDoesNotCountForTheNext) {
  constexpr double patience = 0.05;
  ThreadTeam team(1, patience);
  const auto part = split_team(team.rank(0), 0, 0).value();
  for (Team* const one : {static_cast<Team*>(&team.rank(0)), part.get()}) {
    for (int i = 0; i < 3; ++i) {
      EXPECT_TRUE(one->check_alive());
      std::this_thread::sleep_for(std::chrono::duration<double>(1.5 * patience));
      one->end_wait();
    }
  }
  EXPECT_TRUE(team.rank(0).check_alive());
  std::this_thread::sleep_for(std::chrono::duration<double>(1.5 * patience));
  EXPECT_FALSE(team.rank(0).check_alive());
}

TEST(ThreadTeam, RanksThatPartAreToldWhere) {
  ThreadTeam team(2);
  team.run([](ThreadTeam::End& end) {
    const auto given = end.exchange(end.rank() == 0 ? "this" : "that", "");
    ASSERT_FALSE(given);
    EXPECT_THAT(given.error().message, HasSubstr("while others are at"));
  });
}

TEST(ThreadTeam, ADeathEndsTheWaitsOfAll) {
  ThreadTeam team(3);
  team.run([](ThreadTeam::End& end) {
    if (end.rank() == 0) return end.die();
    Status whole;
    while ((whole = end.check_alive())) std::this_thread::yield();
    EXPECT_THAT(whole.error().message, AllOf(HasSubstr("rank 0 on "), HasSubstr(" died")));
    EXPECT_FALSE(end.exchange("more", ""));
  });
}

TEST(ThreadTeam, AWaitElsewhereHasADeadline) {
  ThreadTeam team(2, 0.3);
  team.run([](ThreadTeam::End& end) {
    ASSERT_TRUE(end.exchange("begin", ""));
    Status whole;
    const auto begin = std::chrono::steady_clock::now();
    while ((whole = end.check_alive()) &&
           std::chrono::steady_clock::now() - begin < std::chrono::seconds(30)) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    ASSERT_FALSE(whole);
    EXPECT_THAT(whole.error().message, HasSubstr("for its device or library"));
  });
}

TEST(SplitTeam, PartsHaveTheirOwnRanksAndExchange) {
  ThreadTeam team(6);
  team.run([](ThreadTeam::End& end) {
    // Even ranks in reverse order, 1 and 3 in theirs, 5 alone.
    const int rank = end.rank();
    const int colour = rank == 5 ? -1 : rank % 2;
    auto part = split_team(end, colour, colour == 0 ? -rank : 7);
    ASSERT_TRUE(part) << part.error().message;
    const std::vector<int> order = rank == 5     ? std::vector{5}
                                   : colour == 0 ? std::vector{4, 2, 0}
                                                 : std::vector{1, 3};
    ASSERT_EQ((*part)->size(), static_cast<int>(order.size()));
    EXPECT_EQ(order[static_cast<std::size_t>((*part)->rank())], rank);
    EXPECT_EQ(own_place(**part).local_rank, (*part)->rank());
    const auto given = (*part)->exchange("telling", std::to_string(rank));
    ASSERT_TRUE(given);
    for (std::size_t i = 0; i < order.size(); ++i) {
      EXPECT_EQ((*given)[i], std::to_string(order[i]));
    }
    // A part of a part.
    const auto again = split_team(**part, 0, -(*part)->rank());
    ASSERT_TRUE(again);
    EXPECT_EQ((*again)->rank(), (*part)->size() - 1 - (*part)->rank());
    EXPECT_TRUE((*again)->check_alive());
  });
}

TEST(SplitTeam, ALostRankOfAnotherPartEndsThisOneToo) {
  ThreadTeam team(4);
  team.run([](ThreadTeam::End& end) {
    auto part = split_team(end, end.rank() / 2, 0);
    ASSERT_TRUE(part);
    if (end.rank() == 3) return end.die();
    EXPECT_FALSE((*part)->exchange("more", ""));
    EXPECT_FALSE((*part)->check_alive());
  });
}

}  // namespace
}  // namespace assay

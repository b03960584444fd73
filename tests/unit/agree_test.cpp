#include "team/agree.h"

#include <gtest/gtest.h>

#include "thread_team.h"

namespace assay {
namespace {

TEST(Agree, AllRanksHearOfTheFirstThatCannot) {
  ThreadTeam team(4);
  std::vector<Error> errors(4);
  team.run([&](Team& rank) {
    Status mine;
    if (rank.rank() == 1) mine = Error{ErrorKind::exhausted, "no memory"};
    if (rank.rank() == 3) mine = Error{ErrorKind::unavailable, "no library"};
    const Status all = agree(rank, "test", mine);
    if (!all.ok()) errors[static_cast<std::size_t>(rank.rank())] = all.error();
  });
  EXPECT_EQ(errors[0].message, "rank 1 on host: no memory");
  EXPECT_EQ(errors[0].kind, ErrorKind::exhausted);
  EXPECT_EQ(errors[1].message, "no memory");
  EXPECT_EQ(errors[2].message, "rank 1 on host: no memory");
  EXPECT_EQ(errors[3].message, "no library");  // its own
  EXPECT_EQ(errors[3].kind, ErrorKind::unavailable);
}

TEST(Agree, NoErrorIsNone) {
  ThreadTeam team(2);
  team.run([](Team& rank) { EXPECT_TRUE(agree(rank, "test", {}).ok()); });
}

}  // namespace
}  // namespace assay

#include "measure/sampling/barrier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/temporary_folder.h"

namespace assay {
namespace {

using testing::HasSubstr;

TEST(Barrier, InvalidTextIsRefused) {
  const TemporaryFolder folder;
  for (const std::string& text :
       {std::string(""), std::string("2"), "1:" + folder.path().string(),
        std::string("2:/no/such/folder"), "x:" + folder.path().string(), std::string("2:")}) {
    const auto barrier = Barrier::parse(text);
    ASSERT_FALSE(barrier.ok()) << text;
    EXPECT_THAT(barrier.error().message, HasSubstr("COUNT:FOLDER"));
  }
}

TEST(Barrier, NoneGoesOnBeforeAllHaveArrived) {
  const TemporaryFolder folder;
  const auto barrier = Barrier::parse("2:" + folder.path().string());
  ASSERT_TRUE(barrier.ok());
  ASSERT_TRUE(barrier->arrive(0).ok());
  int polls = 0;
  const Status alone = barrier->wait(0, [&] { return ++polls > 5; });
  ASSERT_FALSE(alone.ok());
  EXPECT_EQ(alone.error().kind, ErrorKind::interrupted);
  const pid_t other = ::fork();
  if (other == 0) {  // another process, which writes a file of another name
    const auto theirs = Barrier::parse("2:" + folder.path().string());
    ::_exit(theirs->arrive(0).ok() ? 0 : 1);
  }
  EXPECT_TRUE(barrier->wait(0, [] { return false; }).ok());
  ::waitpid(other, nullptr, 0);
  polls = 0;
  EXPECT_FALSE(barrier->wait(1, [&] { return ++polls > 5; }).ok());  // every step needs both again
}

// In containers two processes may both have the number 2.
TEST(Barrier, ProcessesOfOneNumberAreTwo) {
  const TemporaryFolder folder;
  const auto mine = Barrier::parse("2:" + folder.path().string());
  const auto theirs = Barrier::parse("2:" + folder.path().string());
  ASSERT_TRUE(mine.ok() && theirs.ok());
  ASSERT_TRUE(mine->arrive(0).ok() && theirs->arrive(0).ok());
  int polls = 0;
  EXPECT_TRUE(mine->wait(0, [&] { return ++polls > 5; }).ok());
}

}  // namespace
}  // namespace assay

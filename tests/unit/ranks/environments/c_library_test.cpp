// What a campaign learns about the C library of a place before it takes assay there.
#include "ranks/environments/c_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/program.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string refusal(std::string_view printed, std::string_view needed = "2.34") {
  const Status status = check_c_library(printed, "vm", needed, "x86_64");
  return status.ok() ? "" : status.error().message;
}

TEST(CLibrary, ANewEnoughGlibcIsTaken) {
  EXPECT_EQ(refusal("glibc 2.34\nmachine x86_64\nsystem Rocky Linux 9.4\n"), "");
  EXPECT_EQ(refusal("glibc 2.100\nmachine x86_64\n"), "");
  EXPECT_EQ(refusal("glibc 3.0\n"), "");
}

TEST(CLibrary, WhatIsThereWhatIsNeededAndWhatToDoAreSaid) {
  EXPECT_EQ(
      refusal("glibc 2.31\nmachine x86_64\nsystem Debian GNU/Linux 11 (bullseye)\n"),
      "environment vm: this assay needs glibc 2.34 or newer, and glibc there is 2.31 (Debian "
      "GNU/Linux 11 (bullseye)); use the released assay, which needs 2.31, or a newer system");
  EXPECT_EQ(
      refusal("glibc 2.28\nmachine x86_64\nsystem Red Hat Enterprise Linux 8.9 (Ootpa)\n", "2.31"),
      "environment vm: this assay needs glibc 2.31 or newer, and glibc there is 2.28 (Red Hat "
      "Enterprise Linux 8.9 (Ootpa)); use a newer system (Ubuntu 20.04, Debian 11, RHEL 9 and "
      "later)");
  EXPECT_EQ(
      refusal("musl\nmachine x86_64\nsystem Alpine Linux v3.20\n"),
      "environment vm: assay needs glibc 2.34 or newer, and the C library there is musl (Alpine "
      "Linux v3.20); use a system with glibc (Debian, Ubuntu, RHEL and their images)");
  EXPECT_EQ(
      refusal("glibc 2.39\nmachine aarch64\n"),
      "environment vm: this assay is for x86_64, and the processor there is aarch64; build assay "
      "there and name it with binary:");
}

TEST(CLibrary, WhatIsNotSaidIsNoError) {
  for (const char* printed : {"", "machine x86_64\n", "glibc\n", "glibc new\n", "glibc 2\n",
                              "sh: getconf: not found\n", "glibc 2.\n", "\n\n"}) {
    EXPECT_EQ(refusal(printed), "") << printed;
  }
}

TEST(CLibrary, ASystemsNameReachesTheTerminalAsPlainText) {
  EXPECT_THAT(refusal("glibc 2.5\nsystem \x1b[31mred\n"), Not(HasSubstr("\x1b")));
}

TEST(CLibrary, TheScriptSaysWhatIsHere) {
  std::string printed;
  ProgramStart start;
  start.words = {"sh", "-c", std::string(look_at_c_library())};
  start.line = [&](std::string_view line) { printed.append(line).append("\n"); };
  const auto end = run_program(start);
  ASSERT_TRUE(end.ok());
  EXPECT_EQ(end->status, 0);
  EXPECT_THAT(printed, AllOf(StartsWith("glibc 2."), HasSubstr("\nmachine ")));
}

}  // namespace
}  // namespace assay

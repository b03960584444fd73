#include "advise/selftest/anonymous_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>

namespace assay::selftest {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(AnonymousText, KeepsWhatSaysWhatIsWrong) {
  for (const char* text : {
           "ended by signal 11 (Segmentation fault)",
           "hipErrorInvalidValue (1) from hipMemcpyAsync: 1048576 bytes",
           "all_reduce bf16 sum count 100003 root 0 rank 1 of 2: element 7",
           "event clock: 40 ns",
           "gfx942:sramecc+:xnack-, 304 multiprocessors, 192 GiB, SPX/NPS1",
           "the code of bits 0x3f800000 is 0x38, expected 0x40",
           "hipBLASLt 0.10.0-f3a1c27 has no algorithm for it",
       }) {
    EXPECT_EQ(anonymous_text(text), text);
  }
  EXPECT_EQ(anonymous_text("cannot load /opt/rocm-6.4.1/lib/libhipblaslt.so.0: no such file"),
            "cannot load (path)/libhipblaslt.so.0: no such file");
  EXPECT_EQ(anonymous_text("clang -isystem/home/anna/x -I/opt/y/include -O3 at 3 GB/s"),
            "clang -isystem(path) -I(path) -O3 at 3 GB/s");
}

TEST(AnonymousText, HidesWhatIdentifiesAMachineOrAPerson) {
  const std::string random = "a1B2c3D4e5F6g7H8";
  for (const std::string& planted : {
           std::string("/home/anna/secret-project/run.sh"),
           std::string("~/models/customer"),
           std::string("anna@node7.example.com"),
           std::string("10.20.30.40"),
           std::string("fe80::1ff:fe23:4567:890a"),
           std::string("0c:42:a1:b2:c3:d4"),
           std::string("0000:3b:00.0"),
           std::string("GPU-1b2c3d4e-5f60-7182-93a4-b5c6d7e8f901"),
           std::string("692251001124"),
           std::string("0x7b22f9a1c0de43"),
           std::string("http://10.0.0.1:8000/v1?key=abc"),
           "hf_" + random + random,
           "ghp_" + random + random,
           std::string("AKIA") + "ABCDEFGH12345678",
           "xoxb-123456789012-" + random,
           "sk-" + random + random,
       }) {
    const std::string shown = anonymous_text("it said: " + planted + " and ended");
    EXPECT_THAT(shown, Not(HasSubstr(planted)));
    EXPECT_THAT(shown, HasSubstr("it said: ")) << planted;
    EXPECT_THAT(shown, HasSubstr(" and ended")) << planted;
  }
  for (const char* planted : {"HF_TOKEN=s3cr3tvalue", "--api-key s3cr3tvalue",
                              "Authorization: Bearer s3cr3tvalue", "PASSWORD=s3cr3tvalue"}) {
    EXPECT_THAT(anonymous_text(planted), Not(HasSubstr("s3cr3tvalue"))) << planted;
  }
  EXPECT_EQ(anonymous_text("board serial: ABC-123, status 1"), "board serial:(hidden), status 1");
}

TEST(AnonymousText, HidesThisMachinesNames) {
  ASSERT_EQ(::setenv("SUDO_USER", "annabell", 1), 0);
  EXPECT_EQ(anonymous_text("annabell's run"), "(hidden)'s run");
  ::unsetenv("SUDO_USER");
  std::array<char, 256> host = {};
  ASSERT_EQ(::gethostname(host.data(), host.size() - 1), 0);
  const std::string name = host.data();
  if (name.size() < 3) GTEST_SKIP() << "this machine has no name to hide";
  EXPECT_THAT(anonymous_text("on " + name + ": failed"), Not(HasSubstr(name)));
}

TEST(AnonymousText, IsOneBoundedLine) {
  const std::string shown = anonymous_text(std::string(5000, 'x') + "\n\x1b[31m");
  EXPECT_LE(shown.size(), 500u);
  EXPECT_THAT(anonymous_text("a\nb\x1b[31m"), Not(HasSubstr("\n")));
  EXPECT_THAT(anonymous_text("a\nb\x1b[31m"), Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace assay::selftest

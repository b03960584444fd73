// The child process that compiles: what it returns, and every way in which a compiler can
// misbehave.
#include "compute/device/rtc_worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

namespace assay {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(RtcWorker, OtherProcessesAreNoWorkers) {
  char name[] = "assay", other[] = "--json", worker[] = "--assay-rtc-worker";
  char* none[] = {name, nullptr};
  char* option[] = {name, other, nullptr};
  EXPECT_FALSE(run_as_rtc_worker(1, none));
  EXPECT_FALSE(run_as_rtc_worker(2, option));
  char* alone[] = {name, worker, nullptr};
  EXPECT_FALSE(run_as_rtc_worker(2, alone));  // a user's arguments are left to the command line
}

TEST(RtcWorker, AMissingLibraryIsNamed) {
  const auto code = compile_in_child(
      {"/nowhere/libhiprtc.so", "hip", "x.cu", "int a;", {"--gpu-architecture=a"}});
  ASSERT_FALSE(code);
  EXPECT_THAT(code.error().message, HasSubstr("hipRTC not found: tried /nowhere/libhiprtc.so"));
}

#ifdef VIRTUAL_HIP

CompileRequest request(const std::string& arch, const std::string& source = "int a;\n") {
  return {
      VIRTUAL_HIP "6/libamdhip64.so", "hip", "memory.cu", source, {"--gpu-architecture=" + arch}};
}

TEST(RtcWorker, GivesBackTheCode) {
  const auto code = compile_in_child(request("gfx942"));
  ASSERT_TRUE(code) << code.error().message;
  EXPECT_THAT(*code, StartsWith("\177ELF"));
  // More than a socket holds, in both directions.
  const std::string large = "//" + std::string(3'000'000, 'x') + "\nint a;\n";
  EXPECT_THAT(compile_in_child(request("gfx942", large)).value(), StartsWith("\177ELF"));
  EXPECT_EQ(compile_in_child(request("huge")).value().size(), std::size_t{200} << 20);
}

TEST(RtcWorker, CompilersErrorsCarryTheLog) {
  const auto code = compile_in_child(request("gfx942", "int a;\n#error as asked\n"));
  ASSERT_FALSE(code);
  EXPECT_THAT(code.error().message,
              StartsWith("hipRTC could not compile memory.cu (--gpu-architecture=gfx942): "
                         "HIPRTC_ERROR_COMPILATION\nmemory.cu:2:2: error: as asked"));
}

TEST(RtcWorker, ACrashIsOneLineWithTheLastWords) {
  const auto code = compile_in_child(request("abort"));
  ASSERT_FALSE(code);
  EXPECT_EQ(code.error().kind, ErrorKind::failed);
  EXPECT_EQ(code.error().message,
            "hipRTC (" VIRTUAL_HIP
            "6/libamdhip64.so) crashed with signal 6 (Aborted) compiling memory.cu with "
            "--gpu-architecture=abort: unknown architecture, giving up");
}

TEST(RtcWorker, AnExitWithoutAnAnswerIsSaid) {
  const auto code = compile_in_child(request("exit"));
  ASSERT_FALSE(code);
  EXPECT_THAT(code.error().message, HasSubstr("ended with status 7 and no answer"));
}

TEST(RtcWorker, AHangingCompilerIsStopped) {
  CompileRequest slow = request("hang");
  slow.timeout_seconds = 0.5;
  const auto begin = std::chrono::steady_clock::now();
  const auto code = compile_in_child(slow);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
  ASSERT_FALSE(code);
  EXPECT_THAT(code.error().message, HasSubstr("did not end within 0.5 s compiling memory.cu"));
}

TEST(RtcWorker, ANonsenseLengthIsRefused) {
  const auto code = compile_in_child(request("talk"));
  ASSERT_FALSE(code);
  EXPECT_THAT(code.error().message, HasSubstr("gave an invalid answer"));
  EXPECT_THAT(code.error().message, Not(HasSubstr("\n")));
}

#endif

}  // namespace
}  // namespace assay

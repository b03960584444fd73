#include "core/program.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "machine/system/affinity.h"
#include "support/sanitized.h"
#include "support/temporary_folder.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

ProgramStart shell(const std::string& script, std::vector<std::string>* lines = nullptr) {
  ProgramStart start;
  start.words = {"sh", "-c", script};
  if (lines != nullptr) {
    start.line = [lines](std::string_view line) { lines->emplace_back(line); };
  }
  return start;
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

TEST(Program, LinesStatusAndTheEndOfStandardError) {
  std::vector<std::string> lines;
  const auto end =
      run_program(shell("echo one; printf 'two\\nthree'; echo bad >&2; exit 7", &lines));
  ASSERT_TRUE(end.ok()) << end.error().message;
  EXPECT_THAT(lines, ElementsAre("one", "two", "three"));
  EXPECT_EQ(end->status, 7);
  EXPECT_EQ(end->errors_tail, "bad\n");
  const auto much =
      run_program(shell("i=0; while [ $i -lt 2000 ]; do echo line $i >&2; i=$((i+1)); done"));
  ASSERT_TRUE(much.ok());
  EXPECT_LE(much->errors_tail.size(), 4096u);
  EXPECT_THAT(much->errors_tail, testing::StartsWith("line "));
  EXPECT_THAT(much->errors_tail, testing::EndsWith("line 1999\n"));
  const auto wide = run_program(shell("head -c 9000 /dev/zero | tr '\\0' x >&2; echo end >&2"));
  ASSERT_TRUE(wide.ok());
  EXPECT_EQ(wide->errors_tail, std::string(4096 - 4, 'x') + "end\n") << "the last line is all";
}

/// They would go into records, pages and logs.
TEST(Program, ItsErrorsAreKeptWithoutSecrets) {
  const auto end = run_program(shell("echo 'GET https://me:x1@hub failed: token=x2' >&2; exit 3"));
  ASSERT_TRUE(end.ok());
  EXPECT_EQ(end->status, 3);
  EXPECT_EQ(end->errors_tail, "GET https://(set)@hub failed: token=(set)\n");
}

TEST(Program, VariablesInputAndSignals) {
  const TemporaryFolder folder;
  std::vector<std::string> lines;
  ProgramStart start = shell("echo $ASSAY_TEST_X; cat; kill -9 $$", &lines);
  start.variables = {{"ASSAY_TEST_X", "a b"}};
  start.input_file = folder.write("in", "given\n");
  const auto end = run_program(start);
  ASSERT_TRUE(end.ok());
  EXPECT_THAT(lines, ElementsAre("a b", "given"));
  EXPECT_EQ(end->status, 128 + 9);
}

/// Limits of stacks (ulimit -s) hold for threads, too.
TEST(Program, ARunNeedsLittleStack) {
  if (is_sanitized) GTEST_SKIP() << "sanitizers take stack of their own";
  pthread_attr_t small;
  ASSERT_EQ(::pthread_attr_init(&small), 0);
  ASSERT_EQ(::pthread_attr_setstacksize(&small, 64 << 10), 0);
  bool ran = false;
  const auto run = [](void* result) -> void* {
    *static_cast<bool*>(result) = run_program(shell("echo a")).ok();
    return nullptr;
  };
  pthread_t thread = {};
  ASSERT_EQ(::pthread_create(&thread, &small, run, &ran), 0);
  ::pthread_join(thread, nullptr);
  ::pthread_attr_destroy(&small);
  EXPECT_TRUE(ran);
}

TEST(Program, ATextIsItsInputWithoutAFile) {
  std::vector<std::string> lines;
  ProgramStart start = shell("read -r first; echo \"<$first>\"; wc -c", &lines);
  start.input = "a secret\n" + std::string(300000, 'x');
  const auto end = run_program(start);
  ASSERT_TRUE(end.ok());
  EXPECT_THAT(lines, ElementsAre("<a secret>", "300000"));
}

TEST(Program, WhatTakesTooLongIsEndedWithAllItStarted) {
  const auto begin = std::chrono::steady_clock::now();
  // The grandchild holds the output, and would for ten minutes.
  ProgramStart start = shell("sleep 600 & sleep 600");
  start.timeout_seconds = 0.3;
  const auto end = run_program(start);
  ASSERT_TRUE(end.ok());
  EXPECT_TRUE(end->timed_out);
  EXPECT_EQ(end->status, 128 + 15);
  EXPECT_LT(seconds_since(begin), 120);
}

TEST(Program, WhatIgnoresTheFirstSignalIsKilled) {
  std::vector<std::string> lines;
  ProgramStart start = shell("trap '' TERM; echo deaf; while true; do sleep 0.1; done", &lines);
  start.stop_requested = [&] { return !lines.empty(); };
  start.grace_seconds = 0.5;
  const auto end = run_program(start);
  ASSERT_TRUE(end.ok());
  EXPECT_TRUE(end->stopped);
  EXPECT_EQ(end->status, 128 + 9);
}

TEST(Program, ABackgroundProcessDoesNotHoldItOpen) {
  const auto begin = std::chrono::steady_clock::now();
  const auto end = run_program(shell("sleep 600 & exit 3"));
  ASSERT_TRUE(end.ok());
  EXPECT_EQ(end->status, 3);
  EXPECT_LT(seconds_since(begin), 120);
}

TEST(Program, WhatLeftTheGroupIsNotWaitedFor) {
  const auto begin = std::chrono::steady_clock::now();
  const TemporaryFolder folder;
  const std::string file = folder.path() / "process";
  std::vector<std::string> lines;
  ProgramStart start = shell("setsid sh -c 'echo $$ > " + file + "; exec sleep 600' & until [ -s " +
                                 file + " ]; do sleep 0.01; done; cat " + file + "; exit 3",
                             &lines);
  start.grace_seconds = 0.5;
  const auto end = run_program(start);
  ASSERT_TRUE(end.ok());
  EXPECT_EQ(end->status, 3);
  EXPECT_LT(seconds_since(begin), 120);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(::kill(std::stoi(lines[0]), SIGKILL), 0)
      << "it was killed although it had left the group";
}

TEST(Program, RunsOnTheCpusItIsGiven) {
  const int last = affinity_cpus().back();
  std::vector<std::string> lines;
  ProgramStart start = shell("grep Cpus_allowed_list /proc/self/status", &lines);
  start.cpus = {last};
  ASSERT_TRUE(run_program(start).ok());
  EXPECT_THAT(lines, ElementsAre(fmt::format("Cpus_allowed_list:\t{}", last)));
}

TEST(Program, ItsMemoryIsLimited) {
  ProgramStart start;
  start.words = {"head", "-c", "1", "/dev/null"};
  start.address_space_bytes = 1 << 16;  // not even the loader fits in
  const auto end = run_program(start);
  EXPECT_TRUE(!end.ok() || end->status != 0);
}

TEST(Program, WhatCannotStartSaysWhy) {
  ProgramStart start;
  EXPECT_FALSE(run_program(start).ok());
  start.words = {"no-such-program-anywhere"};
  EXPECT_EQ(run_program(start).error().message,
            "cannot start no-such-program-anywhere: there is no such program in PATH");
  const TemporaryFolder folder;
  start.words = {folder.write("text", "")};
  EXPECT_THAT(run_program(start).error().message, HasSubstr("there is no such executable file"));
  start.words = {"true"};
  start.control_groups = {folder.path() / "absent" / "cgroup.procs"};
  EXPECT_THAT(run_program(start).error().message, HasSubstr("cannot join"));
}

TEST(FindProgram, AFolderIsNone) {
  const TemporaryFolder folder;
  const std::string file = folder.write("file", "");
  EXPECT_EQ(find_program(folder.path()), std::nullopt);
  EXPECT_EQ(find_program(file), std::nullopt);
  std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  EXPECT_EQ(find_program(file), file);
  EXPECT_TRUE(check_that_starts(file));
  EXPECT_EQ(check_that_starts(folder.path().string()).error().message,
            "cannot start " + folder.path().string() + ": there is no such executable file");
}

TEST(LastLine, SkipsBlankLines) {
  EXPECT_EQ(last_line("a\n  b c \r\n\n \n"), "b c");
  EXPECT_EQ(last_line(" \n"), "");
  EXPECT_EQ(last_line("one"), "one");
}

}  // namespace
}  // namespace assay

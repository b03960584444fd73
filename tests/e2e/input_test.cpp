// Bad input of every kind gives one line, which names the option and what is allowed, and a status.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "e2e/process.h"
#include "support/unprivileged.h"

namespace assay {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

struct Mistake {
  std::vector<std::string> arguments;
  std::string message;  ///< part of the one line
  int status;
};

class BadInput : public testing::TestWithParam<Mistake> {};

TEST_P(BadInput, OneLineAndStatus) {
  const Outcome outcome = assay_run(GetParam().arguments);
  EXPECT_EQ(outcome.status, GetParam().status);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, StartsWith("assay: "));
  EXPECT_THAT(outcome.err, HasSubstr(GetParam().message));
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
}

INSTANTIATE_TEST_SUITE_P(
    Cli, BadInput,
    testing::Values(
        Mistake{{"mesure"}, "unknown command \"mesure\"", 2},
        Mistake{{"run"}, "usage: assay run", 2},
        Mistake{{"run", "quikc"}, "(did you mean \"quick\"?); suites: ", 2},
        Mistake{{"run", "memory", "sise=1GiB"}, "(did you mean \"size\"?); its axes: ", 2},
        Mistake{{"run", "memory", "size=1GB"}, "axis size: \"1GB\" is not allowed; allowed: ", 2},
        Mistake{{"run", "memory", "size"}, "bad axis setting \"size\": write axis=value", 2},
        Mistake{{"run", "memory", "op=tirad"}, "(did you mean \"triad\"?); allowed: copy, mul", 2},
        Mistake{{"run", "memory", "size=1MiB..1GiB"}, "a sweep without a step", 2},
        Mistake{{"run", "quick", "--bugdet", "1s"}, "did you mean \"--budget\"?", 2},
        Mistake{{"run", "quick", "--budget", "soon"}, "--budget: bad duration \"soon\"", 2},
        Mistake{{"run", "quick", "--seed", "x"}, "--seed: bad number \"x\"", 2},
        Mistake{{"run", "quick", "--device", "gpu"}, "device \"gpu\": no backend \"gpu\"", 2},
        Mistake{{"run", "quick", "--device", "fake:9"}, "fake has 1 device; allowed: ", 2},
        Mistake{{"run", "quick", "--color", "pink"}, "allowed: auto, always, never", 2},
        Mistake{{"run", "/none/s.yaml"}, "cannot read /none/s.yaml: No such file", 2},
        Mistake{{"run", "quick", "--device", "fake", "--out", "/proc/x"},
                "--out: cannot create the folder /proc/x",
                5},
        Mistake{{"run", "quick", "--device", "fake", "--out", "/dev/null"},
                "--out: cannot create the folder /dev/null",
                5},
        Mistake{{"show", "/none"}, "there is no store /none; give", 2},
        Mistake{{"completion", "tcsh"}, "allowed: bash, zsh, fish", 2}));

TEST(BadSuite, FileAndLine) {
  const TemporaryFolder folder;
  const auto file = folder.write("s.yaml",
                                 "name: s\ndescription: d\ncells:\n  - benchmark: memory\n"
                                 "    axes: {op: copi}\n");
  const Outcome outcome = assay_run({"run", file});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_EQ(outcome.err,
            "assay: " + file.string() +
                ":5: axis op: \"copi\" is not allowed (did you mean \"copy\"?); allowed: "
                "copy, mul, add, triad, dot, read, write\n");
  folder.write("s.yaml", "name: [s\n");
  EXPECT_THAT(assay_run({"run", file}).err, HasSubstr("s.yaml:2: "));
}

TEST(BadDevice, AbsentBackendsSayWhy) {
  const Outcome outcome = assay_run({"run", "quick", "--device", "cuda"});
  if (outcome.status == 0) GTEST_SKIP() << "there is a CUDA device";
  EXPECT_EQ(outcome.status, 4);
  EXPECT_THAT(outcome.err, HasSubstr("device \"cuda\": cuda is absent: "));
}

TEST(Folder, Unwritable) {
  const TemporaryFolder folder;
  const Unprivileged user(folder.path());
  if (!user.problem().empty()) GTEST_SKIP() << user.problem();
  std::filesystem::permissions(folder.path(), std::filesystem::perms::owner_read);
  const Outcome outcome =
      assay_run({"run", "launch", "--device", "fake", "--out", folder.path() / "store"});
  EXPECT_EQ(outcome.status, 5);
  EXPECT_THAT(outcome.err, HasSubstr("Permission denied"));
}

/// Whoever lacks a permission is told so, and neither that there is nothing nor that it is no
/// store.
TEST(Folder, WithoutPermissionIsOneReasonAndOneStatusEverywhere) {
  const TemporaryFolder folder;
  const Unprivileged user(folder.path());
  if (!user.problem().empty()) GTEST_SKIP() << user.problem();
  const auto closed = folder.path() / "closed";
  const std::string store = closed / "store", plan = folder.write("plan.yaml", R"(name: p
suite: memory
axes: {op: [copy], size: 4KiB}
device: fake
environments:
  - {name: a, kind: host}
  - {name: b, kind: host}
)");
  folder.write("closed/store/records.jsonl", "{}\n");
  folder.write("other/records.jsonl", "{}\n");
  std::filesystem::permissions(closed, std::filesystem::perms::none);
  const std::string other = folder.path() / "other";
  const std::vector<std::string> commands[] = {
      {"show", store},
      {"compare", store, other},
      {"compare", other, store},
      {"report", store},
      {"baseline", store, "-o", folder.path() / "b"},
      {"history", "add", store, "--database", folder.path() / "h"},
      {"history", "--database", closed / "h"},
      {"fleet", closed},
      {"fleet", store},
      {"diff", store, store},
      {"campaign", plan, "--out", store},
      {"import", closed},
  };
  for (const std::vector<std::string>& words : commands) {
    const Outcome outcome = assay_run(words);
    EXPECT_EQ(outcome.status, 5) << words[0] << ": " << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("Permission denied")) << words[0];
  }
  std::filesystem::permissions(closed, std::filesystem::perms::owner_all);
}

/// Reading a file takes no right to list the folder that it lies in.
TEST(Folder, WhoMayOnlySearchItReadsTheStore) {
  const TemporaryFolder folder;
  const Unprivileged user(folder.path());
  if (!user.problem().empty()) GTEST_SKIP() << user.problem();
  const std::string store = folder.path() / "store", other = folder.path() / "other";
  for (const std::string& name : {store, other}) {
    ASSERT_EQ(assay_run({"run", "memory", "op=copy", "size=4KiB", "dtype=f64", "cache=hot",
                         "--device", "fake", "--out", name})
                  .status,
              0);
  }
  using std::filesystem::perms;
  const std::vector<std::string> commands[] = {
      {"show", store, "--json"},
      {"compare", store, other},
      {"baseline", store, "-o", folder.path() / "b"},
      {"history", "add", store, "--database", folder.path() / "h"},
      {"diff", store, other},
      {"import", store + "/records.jsonl", "--json"},
  };
  for (const std::vector<std::string>& words : commands) {
    const Outcome open = assay_run(words);
    std::filesystem::permissions(store, perms::owner_write | perms::owner_exec);
    const Outcome searched = assay_run(words);
    std::filesystem::permissions(store, perms::owner_all);
    EXPECT_EQ(searched.status, open.status) << words[0] << ": " << searched.err;
    EXPECT_EQ(searched.err, open.err) << words[0];
  }
  std::filesystem::permissions(store, perms::owner_write | perms::owner_exec);
  const Outcome fleet = assay_run({"fleet", store});
  EXPECT_EQ(fleet.status, 5);
  EXPECT_THAT(fleet.err, HasSubstr("Permission denied"));
  std::filesystem::permissions(store, perms::owner_all);
}

/// Words that name an axis's value may also name a store.
TEST(Folder, NamedLikeAnAxisIsAStore) {
  const TemporaryFolder folder;
  folder.write("tp=8/records.jsonl", "no record\n");
  const std::string there = "cd " + folder.path().string() + " && exec " ASSAY_BINARY " show tp=8";
  const Outcome outcome = Process({"-c", there}, {}, "", "/bin/sh").wait();
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("records.jsonl:1: it is not JSON, ignored"));
}

/// A file's name may have any bytes.
TEST(Output, JsonIsUtf8WhateverAFileIsCalled) {
  const TemporaryFolder folder;
  const std::string odd = folder.path().string() + "/\xff";
  folder.write("rows.csv",
               "Validator,PT_VERSION,2.5.0\nGemmTunableOp_float_TN,tn_128_128_128,Default,0.1\n");
  const std::string rows = folder.path() / "rows.csv";
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"trace", "record", "memory", "size=4KiB", "op=copy", "-o", odd + ".json", "--json"},
           {"run", "finetune", "weights=" + odd, "--dry-run", "--json", "--device", "cpu"},
           {"tune", "gemm", "--read", rows, "--json", "--out", odd}}) {
    const Outcome outcome = assay_run(words);
    EXPECT_THAT(outcome.out, HasSubstr("/\xef\xbf\xbd")) << words[0] << ": " << outcome.err;
    EXPECT_THAT(outcome.err, Not(HasSubstr("please report it")));
  }
}

TEST(Output, FullDeviceIsAnError) {
  const Outcome outcome = assay_run({"list"}, {}, "/dev/full");
  EXPECT_EQ(outcome.status, 5);
  EXPECT_THAT(outcome.err, EndsWith("cannot write to standard output: No space left on device\n"));
}

}  // namespace
}  // namespace assay

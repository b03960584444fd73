// The first look at a campaign's environments: what cannot be measured ends the command at once,
// with the reason in the last line, and no unit was begun.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "e2e/campaign_study.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

/// A folder of programs that comes first in PATH.
class Programs {
 public:
  void add(const char* name, const std::string& script) {
    ::chmod(folder_.write(name, "#!/bin/sh\n" + script).c_str(), 0755);
  }
  Process::Environment environment() const {
    return {{"PATH", folder_.path().string() + ":" + std::getenv("PATH")}};
  }
  Process::Environment nothing_else() const { return {{"PATH", folder_.path()}}; }

 private:
  TemporaryFolder folder_;
};

/// The last line of `assay versus WORDS...`, which must have measured nothing.
std::string refusal(std::vector<std::string> words, int status,
                    Process::Environment environment = {}) {
  const TemporaryFolder folder;
  const std::filesystem::path out = folder.path() / "out";
  words.insert(words.begin(), "versus");
  words.insert(words.end(),
               {"--device", "fake", "--unit-budget", "1s", "--pairs", "2", "--out", out});
  const Outcome outcome = assay_run(words, std::move(environment));
  EXPECT_EQ(outcome.status, status) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(Process::read(out / "units.jsonl"), "");
  return last_of(outcome.err);
}

TEST(FirstLook, ADeadDaemonIsNamed) {
  Programs programs;
  programs.add("docker", "echo Cannot connect to the Docker daemon. Is it running? >&2; exit 1\n");
  EXPECT_EQ(refusal({"host", "docker:ubuntu"}, 4, programs.environment()),
            "assay: environment docker: docker cannot start containers: Cannot connect to the "
            "Docker daemon. Is it running?\n");
}

TEST(FirstLook, AMissingImageIsNamed) {
  Programs programs;
  programs.add("docker",
               "[ $1 = run ] || exit 0\necho docker: no such image. >&2\necho See docker run "
               "--help. >&2\nexit 125\n");
  EXPECT_EQ(refusal({"host", "docker:ubuntu"}, 4, programs.environment()),
            "assay: environment docker: assay cannot measure there: docker: no such image.\n");
}

TEST(FirstLook, AMissingProgramIsNamed) {
  const Programs none;
  EXPECT_EQ(refusal({"host", "bubblewrap"}, 4, none.nothing_else()),
            "assay: environment bubblewrap: cannot start bwrap: there is no such program in PATH; "
            "install "
            "bubblewrap\n");
  EXPECT_EQ(refusal({"host", "vm:h"}, 4, none.nothing_else()),
            "assay: environment vm: cannot start ssh: there is no such program in PATH; install "
            "openssh-client\n");
}

TEST(FirstLook, AnUnknownHostIsNamed) {
  Programs programs;
  programs.add("ssh", "echo ssh: Could not resolve hostname h >&2; exit 255\n");
  EXPECT_EQ(refusal({"host", "vm:h"}, 4, programs.environment()),
            "assay: environment vm: cannot connect to h: ssh: Could not resolve hostname h\n");
}

TEST(FirstLook, APartitionOfNoGpuIsNamed) {
  EXPECT_THAT(refusal({"host", "partition:0"}, 2),
              testing::AnyOf(HasSubstr("environment partition: "), HasSubstr("vendor")));
}

TEST(FirstLook, ACellThatNeedsRanksIsNamed) {
  EXPECT_THAT(refusal({"host", "host", "--suite", "collective", "size=1MiB"}, 4),
              AllOf(StartsWith("assay: environment host: no cell can be measured there: "
                               "collective "),
                    HasSubstr("a collective needs at least two ranks")));
}

TEST(FirstLook, ADeviceThatIsNotThereIsNamed) {
  const Study study(
      "name: n\nsuite: launch\ndevice: none\ncontrol: off\n"
      "environments:\n  - {name: a, kind: host}\n  - {name: b, kind: host}\n");
  const Outcome outcome = study.run({"--pairs", "2"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(last_of(outcome.err),
              StartsWith("assay: environment a: assay cannot measure there: device \"none\""));
  EXPECT_TRUE(study.units().empty());
}

TEST(FirstLook, APrefixThatStartsNothingIsNamed) {
  const Study study(head("control: off\n") +
                    "environments:\n  - {name: a, kind: host}\n"
                    "  - {name: b, kind: command, prefix: ['true']}\n");
  const Outcome outcome = study.run({"--pairs", "2"});
  EXPECT_EQ(outcome.status, 4);
  EXPECT_EQ(last_of(outcome.err),
            "assay: environment b: assay cannot measure there: it ended with 0 and said nothing\n");
}

TEST(FirstLook, TheProgramOfACellIsLookedForWhereItRuns) {
  const Study study(
      "name: n\nsuite: s.yaml\ndevice: fake\ncontrol: off\n"
      "environments:\n  - {name: a, kind: host}\n  - {name: b, kind: host}\n");
  study.folder().write("s.yaml",
                       "name: s\ndescription: d\ncells:\n  - command: [no-such-program]\n"
                       "    name: probe\n"
                       "    metrics: [{name: m, regex: 'm (.)', unit: s, better: lower}]\n");
  const Outcome outcome = study.run({"--pairs", "2"});
  EXPECT_EQ(outcome.status, 4);
  EXPECT_THAT(last_of(outcome.err),
              HasSubstr("environment a: no cell can be measured there: probe: cannot start "
                        "no-such-program: there is no such program in PATH; install it"));
}

/// So does a load: by `assay load --check` in the environment.
TEST(FirstLook, TheServersOfALoadAreLookedFor) {
  const auto refused = [](const std::string& servers) {
    const Study study(
        "name: n\ndevice: fake\ncontrol: off\nload: {max-concurrency: 1, requests: 2}\n"
        "environments:\n  - {name: a, kind: host, " +
        servers + "}\n  - {name: b, kind: host, " + servers + "}\n");
    const Outcome outcome = study.run({"--pairs", "2"});
    EXPECT_EQ(outcome.status, 4) << outcome.err;
    EXPECT_TRUE(study.units().empty());
    return last_of(outcome.err);
  };
  EXPECT_THAT(refused("spawn: 'no-such-server --port {port}'"),
              HasSubstr("cannot start no-such-server: there is no such program in PATH"));
  // No process listens on port 1.
  EXPECT_THAT(refused("url: 'http://127.0.0.1:1'"), HasSubstr("127.0.0.1:1"));
}

/// A campaign that is finished only shows its result: it starts nothing.
TEST(FirstLook, WhatIsFinishedIsNotLookedAtAgain) {
  Programs programs;
  programs.add("launcher", "exec \"$@\"\n");
  const Study study(head("control: off\n") +
                    "environments:\n  - {name: a, kind: host}\n"
                    "  - {name: b, kind: command, prefix: [launcher]}\n");
  const Outcome first = study.run({"--pairs", "2"}, programs.environment());
  EXPECT_EQ(first.status, 0) << first.err;
  programs.add("launcher", "exit 9\n");
  EXPECT_EQ(study.run({"--pairs", "2"}, programs.environment()).status, 0);
  EXPECT_EQ(study.run({"--pairs", "4"}, programs.environment()).status, 4);
}

TEST(RunCheck, SaysWhichCellsCannotBeMeasuredAndMeasuresNone) {
  Process process({"run", "memory", "op=copy", "size=1MiB,1024TiB", "dtype=f64", "cache=hot",
                   "--device", "fake", "--check"});
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("2 arrays of 1024TiB do not fit in "),
                                 HasSubstr("1 of 2 cells can be measured here\n")));
  EXPECT_FALSE(std::filesystem::exists(process.folder() / "assay-results"));
}

/// A campaign would otherwise begin, and every unit would fail.
TEST(RunCheck, FilesThatACellNamesAreLookedFor) {
  const auto refused = [](std::vector<std::string> words) {
    words.insert(words.begin(), "run");
    words.insert(words.end(), {"--device", "cpu", "--check"});
    const Outcome outcome = assay_run(words);
    EXPECT_EQ(outcome.status, 4) << outcome.out << outcome.err;
    return outcome.out;
  };
  EXPECT_THAT(refused({"finetune", "data=missing.jsonl"}), HasSubstr("cannot read missing.jsonl"));
  EXPECT_THAT(refused({"train", "model=2L2H64C", "data=."}), HasSubstr("cannot read .: "));
  EXPECT_THAT(refused({"finetune", "weights=missing"}), HasSubstr("missing/config.json"));
  EXPECT_THAT(refused({"decode", "weights=missing"}), HasSubstr("missing/config.json"));
}

/// A training would otherwise end with a full disk. This one would write 1.3 PB.
TEST(RunCheck, ADiskWithoutRoomForACheckpointIsFound) {
  const auto run = [](const char* flag) {
    Process process({"run", "train", "model=4096L64H64K128D8192C1048576F", "batch=1", "sequence=8",
                     "attention=plain", "save=checkpoint", "--device", "fake", flag},
                    {{"ASSAY_FAKE", "memory=1e18"}});
    const Outcome outcome = process.wait();
    EXPECT_FALSE(std::filesystem::exists(process.folder() / "checkpoint"));
    return outcome;
  };
  const auto has_no_room = AllOf(HasSubstr("checkpoint: the disk has room for "),
                                 HasSubstr(" TiB would be written to it"));
  const Outcome checked = run("--check");
  EXPECT_EQ(checked.status, 4) << checked.err;
  EXPECT_THAT(checked.out, has_no_room);
  EXPECT_THAT(run("--dry-run").out, has_no_room);
}

TEST(RunCheck, RanksMeetForIt) {
  const Outcome outcome = assay_run({"run", "collective", "op=all_reduce", "size=1MiB", "--device",
                                     "cpu", "--ranks", "2", "--check"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("cells can be measured here\n"));
}

}  // namespace
}  // namespace assay

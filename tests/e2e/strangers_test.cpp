// What other users of the machine and the network can see of a run of several ranks, and do to it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <set>

#include "core/program.h"
#include "core/tcp.h"
#include "e2e/json_lines.h"
#include "e2e/process.h"
#include "ranks/team/wire.h"
#include "support/held_port.h"
#include "support/hostile_callers.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* run_secret = "a secret of these tests";

std::vector<std::string> small_run(std::vector<std::string> more, const char* budget = "6s") {
  std::vector<std::string> words = {"run",
                                    "collective",
                                    "op=all_reduce,all_gather,send_recv",
                                    "dtype=f32",
                                    "redop=sum",
                                    "place=out",
                                    "library=tcp",
                                    "size=4KiB,64KiB",
                                    "launch=stream",
                                    "--device",
                                    "fake",
                                    "--telemetry",
                                    "off",
                                    "--json",
                                    "--budget",
                                    budget};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

/// The cells of a run and how each ended, in order.
std::vector<std::string> cells_of(const Outcome& outcome) {
  std::vector<std::string> cells;
  for (const Json& record : json_lines(outcome.out)) {
    if (!record.contains("status")) continue;
    cells.push_back(record["axes"].dump() + " " + record["status"].get<std::string>());
  }
  return cells;
}

Process::Environment torchrun_rank(int rank, int size, int port) {
  return {{"RANK", std::to_string(rank)},
          {"WORLD_SIZE", std::to_string(size)},
          {"LOCAL_RANK", std::to_string(rank)},
          {"MASTER_ADDR", "127.0.0.1"},
          {"MASTER_PORT", std::to_string(port - 1)}};  // ranks use the port after it
}

/// The TCP ports at which a process of this run listens; each was started with a folder of its own.
std::set<int> ports_of(const std::vector<std::unique_ptr<Process>>& run) {
  std::set<std::string> sockets;
  for (const auto& process : run) {
    std::error_code gone;
    for (fs::directory_iterator at("/proc/" + std::to_string(process->id()) + "/fd", gone), end;
         !gone && at != end; at.increment(gone)) {
      std::error_code closed;
      sockets.insert(fs::read_symlink(at->path(), closed).string());
    }
  }
  std::set<int> ports;
  for (const char* path : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
      std::istringstream words(line);
      std::string slot, local, remote, state, inode;
      words >> slot >> local >> remote >> state;
      for (int skipped = 0; skipped < 6; ++skipped) words >> inode;
      if (slot != "sl" && state != "0A") break;  // those that listen come first
      if (sockets.count("socket:[" + inode + "]") == 0) continue;
      ports.insert(std::stoi(local.substr(local.rfind(':') + 1), nullptr, 16));
    }
  }
  return ports;
}

TEST(Strangers, AThousandConnectionsOfTenKindsAreAsIfTheyHadNotBeen) {
  const std::vector<std::string> calm = cells_of(assay_run(small_run({"--ranks", "4"}, "60s")));
  ASSERT_EQ(calm.size(), 6u);
  for (const std::string& cell : calm) EXPECT_THAT(cell, HasSubstr(" passed"));

  const HeldPort port;
  std::string request = "team ";
  for (const std::uint64_t number : {1, 4, 1}) put(request, number);  // rank 1 of 4
  put(request, "host");
  HostileCallers strangers(run_secret, request);
  std::vector<std::unique_ptr<Process>> run;
  const auto start = [&](int rank) {
    Process::Environment variables = torchrun_rank(rank, 4, port.number());
    variables["ASSAY_TOKEN"] = run_secret;
    run.push_back(std::make_unique<Process>(small_run({}, "60s"), variables));
  };
  start(0);
  for (int i = 0; i < 10000 && strangers.made() < 1000; ++i) {
    if (!strangers.call(port.number())) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(strangers.made(), 1000);
  for (int rank = 1; rank < 4; ++rank) start(rank);
  // More come while the ranks gather and connect with each other.
  std::atomic<bool> over = false;
  std::thread calls([&] {
    while (!over) {
      for (const int open : ports_of(run)) {
        for (int i = 0; i < 20; ++i) strangers.call(open);
      }
      strangers.go_on();
    }
  });
  std::vector<Outcome> outcomes;
  for (const auto& process : run) outcomes.push_back(process->wait());
  over = true;
  calls.join();
  for (const Outcome& outcome : outcomes) EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(cells_of(outcomes[0]), calm);
}

/// A folder with a program "ssh" that writes down its words and what it is given, and starts the
/// command here, as sshd would.
class FakeSsh {
 public:
  explicit FakeSsh(const std::string& at_the_command = "exec sh -c \"$*\" < $folder/input") {
    const std::string script =
        "#!/bin/sh\nfolder=" + folder_.path().string() +
        "\nprintf '%s\\n' \"$*\" >> $folder/words\n"
        "while [ \"$1\" != -- ]; do shift; done\nshift 2\ncd \"$HOME\"\n"
        "case \"$*\" in *'dd bs=1'*) cat > $folder/input;; *) exec sh -c \"$*\";; esac\n" +
        at_the_command + "\n";
    ::chmod(folder_.write("ssh", script).c_str(), 0755);
  }
  Process::Environment environment() const {
    return {{"PATH", folder_.path().string() + ":" + std::getenv("PATH")},
            {"HOME", folder_.path()},
            {"TMPDIR", temporary_.path()}};
  }
  std::string words() const { return Process::read(folder_.path() / "words"); }
  std::string input() const { return Process::read(folder_.path() / "input"); }
  const fs::path& temporary() const { return temporary_.path(); }
  const fs::path& folder() const { return folder_.path(); }

 private:
  TemporaryFolder folder_, temporary_;
};

/// All words of all processes that may be seen.
std::string process_list() {
  std::string list;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/proc", ignored)) {
    list += Process::read(entry.path() / "cmdline") + "\n";
  }
  return list;
}

TEST(Strangers, NoProcessListTellsVariablesOrTheRunsSecret) {
  const FakeSsh ssh;
  Process::Environment variables = ssh.environment();
  const std::string odd = "it's $HOME\nand a second line";
  variables["NCCL_TESTS_OF_ASSAY"] = odd;
  Process process(small_run({"--hosts", "localhost,user@far:1"}), variables);
  ASSERT_TRUE(process.wait_for_error_text("[1/6]"));
  const std::string seen = process_list();
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(cells_of(outcome).size(), 6u) << outcome.err;
  const std::string given = ssh.input();
  EXPECT_THAT(given, HasSubstr("export NCCL_TESTS_OF_ASSAY='it'\\''s $HOME\nand a second line'\n"));
  const std::size_t at = given.find("export ASSAY_TOKEN='");
  ASSERT_NE(at, std::string::npos) << given;
  const std::string token = given.substr(at + 20, 32);
  EXPECT_EQ(token.find_first_not_of("0123456789abcdef"), std::string::npos) << token;
  EXPECT_THAT(seen, AllOf(HasSubstr(ASSAY_BINARY), Not(HasSubstr(token))));
  EXPECT_THAT(seen, Not(HasSubstr("and a second line")));
  for (const auto& entry : fs::recursive_directory_iterator(process.folder())) {
    EXPECT_THAT(Process::read(entry.path()), Not(HasSubstr(token))) << entry.path();
  }
  EXPECT_THAT(ssh.words(),
              AllOf(HasSubstr("user@far"), Not(HasSubstr(token)), Not(HasSubstr("NCCL_TESTS"))));
}

TEST(Strangers, AnEndWhileSshStartsLeavesNoSecretBehind) {
  for (const int number : {SIGHUP, SIGTERM}) {
    const FakeSsh ssh("touch $folder/started\nexec sleep 600");
    Process process(small_run({"--hosts", "localhost,far"}), ssh.environment());
    for (int i = 0; i < 3000 && !fs::exists(ssh.folder() / "started"); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    ASSERT_THAT(ssh.input(), HasSubstr("export ASSAY_TOKEN="));
    process.signal(number);
    EXPECT_EQ(process.wait().status, 128 + number);
    std::vector<std::string> left;
    for (const auto& entry : fs::directory_iterator(ssh.temporary())) left.push_back(entry.path());
    EXPECT_THAT(left, IsEmpty());
  }
}

/// At its start and once it runs.
TEST(Strangers, WhatAnotherMachineSaysIsOneBoundedLine) {
  const std::string say =
      "printf '\\033[2Jgone %s\\n' $(head -c 3000 /dev/zero | tr '\\0' x) >&2\n";
  const FakeSsh running(say + "exit 1");
  const TemporaryFolder folder;
  ::chmod(folder.write("ssh", "#!/bin/sh\n" + say + "exit 255\n").c_str(), 0755);
  Process::Environment refusing = running.environment();
  refusing["PATH"] = folder.path().string() + ":" + std::getenv("PATH");
  for (const auto& [variables, what] :
       {std::pair{running.environment(), "rank 1 on far ended with status 1: "},
        std::pair{refusing, "cannot connect to far: "}}) {
    const Outcome outcome = assay_run(small_run({"--hosts", "localhost,far"}), variables);
    EXPECT_NE(outcome.status, 0);
    EXPECT_THAT(outcome.err, AllOf(HasSubstr(std::string(what) + "\\u001b[2Jgone xxx"),
                                   HasSubstr("xxx..."), Not(HasSubstr("\x1b"))));
    EXPECT_LT(outcome.err.size(), 1000u) << outcome.err;
  }
}

/// Such as one that waits for a file system, or asks something.
TEST(Strangers, AShellThatDoesNotAnswerEndsTheStart) {
  const TemporaryFolder folder;
  ::chmod(folder.write("ssh", "#!/bin/sh\nexec sleep 600\n").c_str(), 0755);
  Process::Environment variables;
  variables["PATH"] = folder.path().string() + ":" + std::getenv("PATH");
  const auto begin = std::chrono::steady_clock::now();
  const Outcome outcome =
      assay_run(small_run({"--hosts", "localhost,far", "--patience", "2s"}), variables);
  EXPECT_NE(outcome.status, 0);
  EXPECT_THAT(outcome.err, HasSubstr("the shell of far did not answer within 2 s"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(100));
}

TEST(Strangers, AHostIsMeasuredWhereItsNameLeads) {
  const auto complaint = [](const std::string& hosts) {
    const Outcome outcome = assay_run(small_run({"--hosts", hosts}));
    EXPECT_EQ(outcome.status, 2) << outcome.err;
    EXPECT_THAT(cells_of(outcome), IsEmpty());
    return outcome.err;
  };
  EXPECT_THAT(complaint("192.0.2.7:2"),
              AllOf(HasSubstr("--hosts: 192.0.2.7 is not this machine"),
                    HasSubstr(":2,192.0.2.7:2"), HasSubstr("start assay on another")));
  EXPECT_THAT(
      complaint("192.0.2.7,localhost:2"),
      HasSubstr("which comes first, since rank 0 runs here: --hosts localhost:2,192.0.2.7"));
  const Outcome here = assay_run(small_run({"--hosts", "localhost:2"}));
  EXPECT_EQ(here.status, 0) << here.err;
  EXPECT_EQ(cells_of(here).size(), 6u);
}

/// A process of another user, while it lives.
class OtherUsersProcess {
 public:
  OtherUsersProcess() : id_(::fork()) {
    if (id_ != 0) return;
    if (::setresuid(12345, 12345, 12345) == 0) {
      for (;;) ::pause();
    }
    ::_exit(1);
  }
  ~OtherUsersProcess() {
    ::kill(id_, SIGKILL);
    ::waitpid(id_, nullptr, 0);
  }
  /// False: it may not become another user's.
  bool works() const {
    for (int i = 0; i < 1000; ++i) {
      struct stat status = {};
      if (::waitpid(id_, nullptr, WNOHANG) != 0) return false;
      const std::string path = "/proc/" + std::to_string(id_);
      if (::stat(path.c_str(), &status) == 0 && status.st_uid == 12345) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
  }

 private:
  const pid_t id_;
};

TEST(Strangers, AnOpenRunSaysSoAndIsRefusedWhereOtherUsersAre) {
  const OtherUsersProcess other;
  const HeldPort port;
  if (other.works()) {
    const Outcome refused = assay_run(small_run({}), torchrun_rank(0, 2, port.number()));
    EXPECT_EQ(refused.status, 2) << refused.err;
    EXPECT_THAT(refused.err,
                AllOf(HasSubstr("this run is open to others"), HasSubstr("12345"),
                      HasSubstr("ASSAY_TOKEN"), HasSubstr("unless --without-secret is given")));
  }
  Process second(small_run({"--without-secret"}), torchrun_rank(1, 2, port.number()));
  const Outcome open =
      assay_run(small_run({"--without-secret"}), torchrun_rank(0, 2, port.number()));
  EXPECT_EQ(open.status, 0) << open.err;
  EXPECT_THAT(open.err, HasSubstr("warning: this run is open to others: who can reach 127.0.0.1:" +
                                  std::to_string(port.number())));
  EXPECT_EQ(cells_of(open).size(), 6u);
  EXPECT_EQ(second.wait().status, 0);
}

TEST(Strangers, WithASecretFileTheRunIsClosed) {
  const HeldPort port;
  const TemporaryFolder folder;
  const fs::path file = folder.write("secret", "0123456789abcdef\n");
  ASSERT_EQ(::chmod(file.c_str(), 0600), 0);
  const auto variables = [&](int rank) {
    Process::Environment all = torchrun_rank(rank, 2, port.number());
    all["ASSAY_TOKEN_FILE"] = file;
    return all;
  };
  Process second(small_run({}), variables(1));
  const Outcome outcome = assay_run(small_run({}), variables(0));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.err, Not(HasSubstr("open to others")));
  EXPECT_EQ(second.wait().status, 0);
  ASSERT_EQ(::chmod(file.c_str(), 0644), 0);
  const Outcome refused = assay_run(small_run({}), variables(0));
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, HasSubstr("others have rights to it (mode 0644)"));
}

/// Runs two ranks under mpirun, each with these words before assay's.
Outcome under_mpirun(const std::string& mpirun, const std::vector<std::string>& first,
                     const std::vector<std::string>& second) {
  const char* path = std::getenv("PATH");
  std::vector<std::string> words = {"--oversubscribe"};
  if (::geteuid() == 0) words.emplace_back("--allow-run-as-root");
  std::vector<std::string> assay = small_run({"--patience", "5s"});
  assay.insert(assay.begin(), ASSAY_BINARY);
  const auto add = [&](const std::vector<std::string>& before) {
    words.insert(words.end(), {"-n", "1"});
    words.insert(words.end(), before.begin(), before.end());
    words.insert(words.end(), assay.begin(), assay.end());
  };
  add(first);
  words.emplace_back(":");
  add(second);
  return Process(words, {{"PATH", path != nullptr ? path : ""}}, "", mpirun).wait();
}

TEST(Strangers, UnderMpirunAGivenSecretIsUsed) {
  const auto mpirun = find_program("mpirun.openmpi");
  if (!mpirun) GTEST_SKIP() << "there is no mpirun.openmpi";
  const std::vector<std::string> one = {"env", "ASSAY_TOKEN=one secret of two"};
  const std::vector<std::string> other = {"env", "ASSAY_TOKEN=other secret of two"};
  const Outcome none = under_mpirun(*mpirun, {}, {});
  if (none.status != 0) GTEST_SKIP() << "mpirun starts no two ranks here: " << none.err;
  EXPECT_EQ(cells_of(none).size(), 6u) << none.err;
  EXPECT_THAT(none.err, Not(HasSubstr("open to others")));  // MPI gives the ranks a random one
  const Outcome given = under_mpirun(*mpirun, one, one);
  EXPECT_EQ(given.status, 0) << given.err;
  EXPECT_EQ(cells_of(given).size(), 6u);
  const Outcome different = under_mpirun(*mpirun, one, other);
  EXPECT_NE(different.status, 0);
  EXPECT_THAT(different.err, HasSubstr("1 of 2 ranks connected within 5 s"));
  const Outcome half = under_mpirun(*mpirun, one, {});
  EXPECT_NE(half.status, 0);
  EXPECT_THAT(half.err, HasSubstr("pass it to all ranks, e.g. mpirun -x ASSAY_TOKEN"));
}

}  // namespace
}  // namespace assay

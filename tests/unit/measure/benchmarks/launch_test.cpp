// Who started this process as which rank, and which ranks it starts itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <map>

#include "measure/sampling/team_sample.h"
#include "ranks/launch/other_users.h"
#include "ranks/launch/own_host.h"
#include "ranks/launch/rank_place.h"
#include "ranks/launch/secret_file.h"
#include "ranks/launch/started_ranks.h"
#include "ranks/team/network_addresses.h"
#include "ranks/team/rendezvous.h"
#include "support/temporary_folder.h"

namespace assay {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using LauncherVariables = std::map<std::string, std::string>;

Result<std::optional<RankPlace>> place_in(const LauncherVariables& variables) {
  return find_rank_place([&](const char* name) -> const char* {
    const auto at = variables.find(name);
    return at == variables.end() ? nullptr : at->second.c_str();
  });
}

TEST(RankPlace, WithoutALauncher) {
  EXPECT_FALSE(place_in({})->has_value());
  // A single rank is not a team.
  EXPECT_FALSE(
      place_in({{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "1"}})->has_value());
  // A Slurm batch script is not a rank: only srun sets the number of tasks of the step.
  EXPECT_FALSE(place_in({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}})->has_value());
}

TEST(RankPlace, Mpirun) {
  const auto place = *place_in({{"OMPI_COMM_WORLD_RANK", "3"},
                                {"OMPI_COMM_WORLD_SIZE", "8"},
                                {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}});
  ASSERT_TRUE(place.has_value());
  EXPECT_EQ(place->launcher, "Open MPI");
  EXPECT_EQ(place->rank, 3);
  EXPECT_EQ(place->size, 8);
  EXPECT_EQ(place->local_rank, 1);
  EXPECT_EQ(place->address, "");  // rank 0 sends it through MPI
  EXPECT_EQ((*place_in({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}}))->launcher, "MPICH");
}

TEST(RankPlace, Srun) {
  LauncherVariables step = {{"SLURM_PROCID", "5"},    {"SLURM_STEP_NUM_TASKS", "16"},
                            {"SLURM_LOCALID", "5"},   {"SLURM_STEP_NODELIST", "gpu-node[03-04]"},
                            {"SLURM_JOB_ID", "4242"}, {"SLURM_STEP_ID", "0"}};
  const auto place = *place_in(step);
  ASSERT_TRUE(place.has_value());
  EXPECT_THAT(place->address, StartsWith("gpu-node03:"));
  EXPECT_EQ(place->token.size(), 64u);
  EXPECT_TRUE(place->open);
  step["SLURM_STEP_ID"] = "1";
  EXPECT_NE((*place_in(step))->token, place->token);
  step.erase("SLURM_STEP_NODELIST");
  EXPECT_THAT(place_in(step).error().message, HasSubstr("SLURM_STEP_NODELIST"));
}

TEST(RankPlace, FirstHost) {
  EXPECT_EQ(first_host("node1"), "node1");
  EXPECT_EQ(first_host("node[03-05,9],other"), "node03");
  EXPECT_EQ(first_host("gpu-a,gpu-b"), "gpu-a");
  EXPECT_EQ(first_host("a-b-[7,9]"), "a-b-7");
  EXPECT_EQ(first_host("rack[1-2]n[1-4]"), "rack1n1");
  EXPECT_EQ(first_host("rack[01,03-04]-gpu[007-010]-ib,login"), "rack01-gpu007-ib");
  EXPECT_EQ(first_host("node[9]x"), "node9x");
  EXPECT_EQ(first_host("a,node[1-2]"), "a");
  EXPECT_EQ(first_host(""), "");
}

TEST(RankPlace, Torchrun) {
  const auto place = *place_in({{"RANK", "2"},
                                {"WORLD_SIZE", "4"},
                                {"LOCAL_RANK", "0"},
                                {"MASTER_ADDR", "node-a"},
                                {"MASTER_PORT", "29500"}});
  ASSERT_TRUE(place.has_value());
  EXPECT_EQ(place->address, "node-a:29501");  // torchrun's store takes the port itself
  EXPECT_THAT(place_in({{"RANK", "2"}, {"WORLD_SIZE", "4"}}).error().message,
              HasSubstr("MASTER_ADDR is not set"));
  EXPECT_THAT(place_in({{"RANK", "4"}, {"WORLD_SIZE", "4"}}).error().message,
              HasSubstr("RANK=\"4\" is not allowed; allowed: 0 to 3"));
  EXPECT_THAT(place_in({{"RANK", "x"}, {"WORLD_SIZE", "-1"}}).error().message,
              HasSubstr("WORLD_SIZE=\"-1\""));
}

TEST(RankPlace, DstackStartsTheRanksOfANode) {
  const auto place = *place_in({{"DSTACK_NODE_RANK", "1"},
                                {"DSTACK_NODES_NUM", "2"},
                                {"DSTACK_GPUS_PER_NODE", "8"},
                                {"DSTACK_MASTER_NODE_IP", "10.0.0.5"}});
  ASSERT_TRUE(place.has_value());
  EXPECT_EQ(place->rank, 8);
  EXPECT_EQ(place->size, 16);
  EXPECT_EQ(place->here, 8);
  EXPECT_EQ(place->address, "10.0.0.5:29501");
}

TEST(RankPlace, AssaysOwnVariablesWinAndNeedTheToken) {
  LauncherVariables variables = {{"ASSAY_RANK", "1"},      {"ASSAY_RANKS", "2"},
                                 {"ASSAY_ADDRESS", "a:5"}, {"RANK", "0"},
                                 {"WORLD_SIZE", "9"},      {"ASSAY_TOKEN", "sixteen or more."}};
  EXPECT_EQ((*place_in(variables))->size, 2);
  EXPECT_EQ((*place_in(variables))->token, "sixteen or more.");
  EXPECT_FALSE((*place_in(variables))->open);
  variables["ASSAY_TOKEN"] = "guess me";
  EXPECT_THAT(place_in(variables).error().message,
              HasSubstr("ASSAY_TOKEN has 8 characters, which could be guessed"));
  variables.erase("ASSAY_TOKEN");
  EXPECT_THAT(place_in(variables).error().message, HasSubstr("ASSAY_TOKEN is not set"));
}

TEST(RankPlace, ATokenGivenToAllRanksClosesTheRun) {
  LauncherVariables torchrun = {
      {"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "node-a"}, {"MASTER_PORT", "29500"}};
  EXPECT_TRUE((*place_in(torchrun))->open);
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.write("secret", "  a secret of the run\n");
  std::filesystem::permissions(file, std::filesystem::perms(0600));
  torchrun["ASSAY_TOKEN_FILE"] = file;
  EXPECT_FALSE((*place_in(torchrun))->open);
  EXPECT_EQ((*place_in(torchrun))->token, "a secret of the run");
  // Under mpirun too, instead of one that rank 0 sends through MPI.
  EXPECT_EQ((*place_in({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"ASSAY_TOKEN_FILE", file}}))->token,
            "a secret of the run");
  std::filesystem::permissions(file, std::filesystem::perms(0640));
  EXPECT_THAT(place_in(torchrun).error().message,
              HasSubstr("others have rights to it (mode 0640); chmod 600 it"));
}

TEST(SecretFile, OnlyAnOwnRegularFileOfEnoughBytes) {
  const TemporaryFolder folder;
  const auto refusal = [&](const std::string& path) {
    const auto read = read_secret_file(path);
    return read.ok() ? "" : read.error().message;
  };
  const auto with = [&](const std::string& text) {
    const auto path = folder.write("secret", text);
    std::filesystem::permissions(path, std::filesystem::perms(0600));
    return path.string();
  };
  EXPECT_EQ(refusal(with(std::string(4096, 'x'))), "");
  EXPECT_THAT(refusal(with(std::string(4097, 'x'))), HasSubstr("longer than 4096 bytes"));
  EXPECT_THAT(refusal(with("short\n")), HasSubstr("has 5 characters"));
  EXPECT_THAT(refusal(folder.path() / "none"), HasSubstr("No such file"));
  EXPECT_THAT(refusal(folder.path()), HasSubstr("not a regular file"));
  const std::string pipe = folder.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(refusal(pipe), HasSubstr("not a regular file"));
  const std::string file = with("sixteen or more.");
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(file.c_str(), 12345, 12345), 0);
    EXPECT_THAT(refusal(file), HasSubstr("belongs to user 12345, not to this one, 0"));
  }
}

TEST(OtherUsers, PeopleButNotTheSystem) {
  const TemporaryFolder proc;
  const auto process = [&](const std::string& id, const std::string& user) {
    proc.write(id + "/status", "Name:\tx\nUmask:\t0022\nUid:\t" + user + "\t0\t0\t0\nGid:\t0\n");
  };
  process("1", "0");
  process("20", "999");
  process("21", "65534");
  process("22", "1000");
  proc.write("self/status", "Uid:\t4711\n");
  proc.write("23/status", "");  // one that ends just now
  EXPECT_THAT(other_users(1000, proc.path()).value(), testing::IsEmpty());
  process("24", "1001");
  process("25", "200123");
  process("26", "1001");
  EXPECT_THAT(other_users(1000, proc.path()).value(), testing::ElementsAre(1001, 200123));
  std::filesystem::remove_all(proc.path() / "1");  // hidepid=2
  EXPECT_FALSE(other_users(1000, proc.path()));
  EXPECT_FALSE(other_users(1000, proc.path() / "nowhere"));
}

TEST(OwnHost, ByNameOrAddress) {
  const std::string name = host_name();
  for (const std::string& own : {std::string("localhost"), std::string("127.0.0.1"),
                                 std::string("::1"), name, "user@" + name, name + ".cluster"}) {
    EXPECT_TRUE(is_this_machine(own)) << own;
  }
  for (const NetworkAddress& own : own_networks()) EXPECT_TRUE(is_this_machine(own.text));
  for (const char* other : {"192.0.2.7", "user@192.0.2.7", "2001:db8::7", "", "user@"}) {
    EXPECT_FALSE(is_this_machine(other)) << other;
  }
}

TEST(Hosts, NamesAndRanks) {
  const auto hosts = parse_hosts("node1:8,node2");
  ASSERT_TRUE(hosts.ok());
  ASSERT_EQ(hosts->size(), 2u);
  EXPECT_EQ((*hosts)[0].host, "node1");
  EXPECT_EQ((*hosts)[0].ranks, 8);
  EXPECT_EQ((*hosts)[1].ranks, 1);
  for (const char* bad : {"", "a:0", "a:x", "a,,b", "-oProxyCommand=x", ":3"}) {
    EXPECT_FALSE(parse_hosts(bad).ok()) << bad;
  }
}

TEST(Arrivals, WhoComesLastIsNamedIfTheOthersReallyWait) {
  const Arrivals late = judge_arrivals({0.0210, 0.0211, 0.0010, 0.0209});
  EXPECT_EQ(late.last, 2);
  EXPECT_NEAR(late.waited, 0.02, 1e-4);
  EXPECT_EQ(judge_arrivals({0.0210, 0.0211, 0.0190, 0.0209}).waited, 0);  // a tenth is noise
  EXPECT_EQ(judge_arrivals({50e-6, 51e-6, 20e-6, 50e-6}).waited,
            0);  // messages take 30 us themselves
  EXPECT_EQ(judge_arrivals({0.5}).waited, 0);
}

}  // namespace
}  // namespace assay

// Who started this process as which rank, and which ranks it starts itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "measure/sampling/team_sample.h"
#include "ranks/launch/rank_place.h"
#include "ranks/launch/started_ranks.h"

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
  LauncherVariables variables = {
      {"ASSAY_RANK", "1"},  {"ASSAY_RANKS", "2"}, {"ASSAY_ADDRESS", "a:5"},
      {"ASSAY_TOKEN", "t"}, {"RANK", "0"},        {"WORLD_SIZE", "9"}};
  EXPECT_EQ((*place_in(variables))->size, 2);
  EXPECT_EQ((*place_in(variables))->token, "t");
  variables.erase("ASSAY_TOKEN");
  EXPECT_THAT(place_in(variables).error().message, HasSubstr("ASSAY_TOKEN is not set"));
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

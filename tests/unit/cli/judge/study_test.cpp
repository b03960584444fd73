#include "cli/judge/study.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "core/program.h"
#include "judge/campaign/plan.h"
#include "support/temporary_folder.h"

namespace assay::cli {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

StudyMachine machine_of(std::size_t gpus, const std::string& partition = "") {
  StudyMachine machine;
  for (std::size_t i = 0; i < gpus; ++i) {
    DeviceFacts gpu;
    gpu.backend = "hip";
    gpu.arch = "gfx942";
    gpu.partition = partition;
    gpu.pci = "0000:13:00.0";
    machine.gpus.push_back(gpu);
  }
  machine.cpus = 2;
  machine.problem_of_engine = [](const std::string& program) {
    return program == "docker" ? "docker does not work here: no daemon" : "";
  };
  return machine;
}

Study study_of(const StudyRequest& request, const StudyMachine& machine) {
  auto study = make_study(request, machine);
  EXPECT_TRUE(study.ok()) << study.error().message;
  return study.ok() ? *std::move(study) : Study();
}

CampaignPlan plan_of(const Study& study) {
  auto plan = parse_campaign_plan(study.plan, "study");
  EXPECT_TRUE(plan.ok()) << plan.error().message << "\n" << study.plan;
  return plan.ok() ? *std::move(plan) : CampaignPlan();
}

std::string problem_of(const StudyRequest& request, const StudyMachine& machine) {
  const auto study = make_study(request, machine);
  return study.ok() ? "fine" : study.error().message;
}

TEST(Study, AContainerIsOfTheFirstEngineThatWorks) {
  StudyMachine machine = machine_of(0);
  Study study = study_of({.name = "container"}, machine);
  EXPECT_THAT(study.notes.front(), HasSubstr("container: podman with ubuntu:24.04"));
  EXPECT_EQ(plan_of(study).environments.at(1).name, "podman");
  machine.problem_of_engine = [](const std::string& program) {
    return program == "bwrap" ? "" : program + " is not installed";
  };
  study = study_of({.name = "container"}, machine);
  EXPECT_THAT(study.notes.front(), HasSubstr("container: bubblewrap, this machine's own files in "
                                             "namespaces of their own; docker is not installed"));
  EXPECT_EQ(plan_of(study).environments.at(1).name, "bubblewrap");
  machine.problem_of_engine = [](const std::string& program) { return program + " is gone"; };
  EXPECT_THAT(problem_of({.name = "container"}, machine),
              HasSubstr("docker is gone; podman is gone; bwrap is gone; install one of them"));
  study = study_of({.name = "container", .operands = {"docker:a", "docker:b"}}, machine);
  EXPECT_EQ(plan_of(study).environments.at(2).name, "docker-2");
  EXPECT_THAT(study.plan, Not(HasSubstr("subject:"))) << "each has its own name";
  EXPECT_EQ(study.folder, "campaigns/container-docker-a-docker-b");
}

TEST(Study, WhatTheMachineLacksIsLeftOutByName) {
  const Study study = study_of({.name = "container"}, machine_of(0));
  EXPECT_THAT(study.notes, testing::Contains("left out: collectives between ranks (RCCL, NCCL): "
                                             "this machine has no GPU; --ranks 2 measures them "
                                             "between processes"));
  EXPECT_THAT(study.notes, testing::Contains("left out: RDMA through the adapter: there is no "
                                             "active port in /sys/class/infiniband"));
  EXPECT_FALSE(plan_of(study).commands.has_value());
  EXPECT_THAT(study.plan, HasSubstr("# left out: RDMA through the adapter"));
  StudyMachine node = machine_of(8);
  node.has_adapter = true;
  const Study all = study_of({.name = "container"}, node);
  EXPECT_EQ(all.notes.size(), 1u) << "only the choice of the engine";
  EXPECT_EQ(plan_of(all).commands->entries.size(), 5u);  // three of the suite first
  EXPECT_THAT(all.plan, AllOf(HasSubstr("--ranks, \"8\""), HasSubstr("transport=verbs")));
  const Study processes = study_of({.name = "container", .ranks = 2}, machine_of(0));
  EXPECT_THAT(processes.plan, AllOf(HasSubstr("size=64KiB,16MiB\", --ranks, \"2\""),
                                    Not(HasSubstr("left out: collectives"))));
}

TEST(Study, PartitionsAreThoseOfTheFirstGpu) {
  StudyMachine machine = machine_of(8, "CPX/NPS4");
  machine.gpus.back().pci = "0000:23:00.0";
  Study study = study_of({.name = "partition"}, machine);
  EXPECT_EQ(plan_of(study).study->each.size(), 7u);
  EXPECT_THAT(study.notes, ElementsAre(HasSubstr("the whole GPU was not measured here")));
  for (DeviceFacts& gpu : machine.gpus) gpu.emulated = true;
  study = study_of({.name = "partition", .axes = {"size=64KiB"}}, machine);
  EXPECT_EQ(plan_of(study).cells, 2u) << study.plan;
  EXPECT_THAT(study.plan, HasSubstr("axes: {size: \"64KiB\"}"));
  EXPECT_THAT(study.notes.front(), HasSubstr("the whole GPU"));
  EXPECT_THAT(study.notes.back(), HasSubstr("two linear layers on one rank: the GPU is emulated"));
  // Undivided, it is measured for the comparison.
  study = study_of({.name = "partition"}, machine_of(1, "SPX/NPS1"));
  EXPECT_EQ(study.folder, "campaigns/partition-whole");
  EXPECT_FALSE(plan_of(study).study.has_value());
  EXPECT_THAT(study.plan, HasSubstr("description: What does the whole GPU deliver?"));
  EXPECT_THAT(study.notes.front(), HasSubstr("amd-smi set --gpu all --compute-partition CPX"));
  EXPECT_THAT(problem_of({.name = "partition"}, machine_of(0)), HasSubstr("has no GPU; parts of"));
  EXPECT_THAT(problem_of({.name = "partition", .operands = {"0"}}, machine_of(0)),
              HasSubstr("at least two partitions"));
  study = study_of({.name = "partition", .operands = {"cpus:0", "cpus:1"}}, machine_of(0));
  EXPECT_THAT(plan_of(study).study->each, ElementsAre("p0", "p1"));
}

TEST(Study, ScalingTakesItsRanks) {
  EXPECT_EQ(plan_of(study_of({.name = "scaling"}, machine_of(8))).ranks, 8u);
  EXPECT_EQ(plan_of(study_of({.name = "scaling"}, machine_of(0))).ranks, 2u);
  const Study four = study_of(
      {.name = "scaling", .axes = {"scaling=strong", "model=30M"}, .ranks = 4, .budget = "1min"},
      machine_of(0));
  EXPECT_EQ(plan_of(four).ranks, 4u);
  EXPECT_DOUBLE_EQ(plan_of(four).budget_seconds.value(), 60);
  EXPECT_EQ(four.folder, "campaigns/scaling-scaling-strong-model-30M-4-ranks");
  EXPECT_THAT(four.plan, HasSubstr("axes: {ranks: [1, all], scaling: \"strong\", model: \"30M\"}"));
  EXPECT_THAT(problem_of({.name = "scaling", .operands = {"host"}}, machine_of(0)),
              HasSubstr("\"host\" is not allowed; --ranks N is the only choice"));
}

TEST(Study, MachinesAndBuildsAreNamed) {
  const StudyMachine machine = machine_of(0);
  Study study = study_of(
      {.name = "vm", .operands = {"root@vm7"}, .load = {"load: {requests: 8}\n", "spawn: serve"}},
      machine);
  EXPECT_THAT(study.plan, HasSubstr("{name: vm, kind: ssh, target: \"root@vm7\", spawn: serve}"));
  EXPECT_EQ(plan_of(study).environments.size(), 2u);
  EXPECT_EQ(plan_of(study).budget_seconds.value(), 4 * 3600) << "each unit starts a server";
  EXPECT_THAT(study.notes, ElementsAre("left out: fine-tuning of Qwen2-0.5B with LoRA: this "
                                       "machine has no GPU"));
  study = study_of({.name = "node", .operands = {"root@n7", "docker:i"}}, machine);
  EXPECT_THAT(study.plan, AllOf(HasSubstr("{name: baseline, kind: container"),
                                HasSubstr("{name: node, kind: ssh, target: \"root@n7\"}"),
                                HasSubstr("subject: \"The node root@n7\"")));
  EXPECT_EQ(plan_of(study_of({.name = "node", .operands = {"n7"}}, machine)).environments[0].kind,
            "host");
  const TemporaryFolder builds;
  std::filesystem::create_directories(builds.path() / "old" / "lib");
  const std::string old = (builds.path() / "old").string();
  study = study_of({.name = "upgrade", .operands = {old, "docker:i"}}, machine);
  EXPECT_THAT(study.plan, HasSubstr("LD_LIBRARY_PATH: \"" + old + "/lib\""));
  EXPECT_EQ(plan_of(study).environments.at(1).name, "new");
  EXPECT_THAT(problem_of({.name = "upgrade", .operands = {"/no/such", old}}, machine),
              HasSubstr("there is no folder /no/such/lib; a build is a folder"));
  EXPECT_THAT(problem_of({.name = "upgrade", .operands = {old}}, machine),
              HasSubstr("name the old and the new build"));
  EXPECT_THAT(problem_of({.name = "vm"}, machine), HasSubstr("assay campaign vm root@vm7"));
  EXPECT_THAT(problem_of({.name = "node"}, machine), HasSubstr("name the node"));
  EXPECT_THAT(problem_of({.name = "vm", .operands = {"qemu:x"}}, machine),
              HasSubstr("\"qemu:x\" is not an environment"));
}

TEST(Study, EveryStudyHasAnExampleOfItsName) {
  for (const char* name : {"container", "node", "partition", "scaling", "upgrade", "vm"}) {
    EXPECT_TRUE(is_study(name));
    EXPECT_THAT(study_names(), HasSubstr(name));
  }
  EXPECT_FALSE(is_study("./container"));
  EXPECT_FALSE(is_study("rccl"));
}

}  // namespace
}  // namespace assay::cli

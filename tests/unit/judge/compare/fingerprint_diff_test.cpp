#include "judge/compare/fingerprint_diff.h"

#include <gtest/gtest.h>

#include <array>

#include "core/json.h"

namespace assay {
namespace {

Json two_gpus(double cap, const char* uuid) {
  Json gpu = {{"name", "MI300X"}, {"power_cap_watts", cap}, {"uuid", uuid}};
  return {{"accelerators", {gpu, gpu}}, {"environment", {{"NCCL_DEBUG", "INFO"}}}};
}

TEST(FingerprintDiff, AFingerprintDoesNotDifferFromItself) {
  EXPECT_TRUE(diff_fingerprints(two_gpus(750, "a"), two_gpus(750, "a")).empty());
}

TEST(FingerprintDiff, LikeliestFirstAndLikeChangesMerged) {
  Json b = two_gpus(600, "b");
  b["environment"] = {{"HSA_NO_SCRATCH_RECLAIM", "1"}};
  const auto differences = diff_fingerprints(two_gpus(750, "a"), b);
  ASSERT_EQ(differences.size(), 4u);
  EXPECT_EQ(differences[0].path, "accelerators.0-1.power_cap_watts");
  EXPECT_EQ(differences[0].likelihood, Likelihood::high);
  EXPECT_EQ(differences[0].a, 750);
  EXPECT_EQ(differences[0].b, 600);
  EXPECT_EQ(differences[1].path, "environment.HSA_NO_SCRATCH_RECLAIM");
  EXPECT_TRUE(differences[1].a.is_null());
  EXPECT_EQ(differences[2].path, "environment.NCCL_DEBUG");
  EXPECT_TRUE(differences[2].b.is_null());
  EXPECT_EQ(differences[3].path, "accelerators.0-1.uuid");
  EXPECT_EQ(differences[3].likelihood, Likelihood::identity);
}

/// Stores of older versions hold them. They are new in every job.
TEST(FingerprintDiff, WhatMpirunSetsForEachProcessIsNoSetting) {
  const Json a = {{"environment", {{"OMPI_FILE_LOCATION", "/tmp/1"}, {"OMPI_MCA_btl", "tcp"}}}};
  const Json b = {{"environment", {{"OMPI_FILE_LOCATION", "/tmp/2"}, {"OMPI_MCA_btl", "self"}}}};
  const auto found = diff_fingerprints(a, b);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].path, "environment.OMPI_MCA_btl");
  EXPECT_EQ(found[0].likelihood, Likelihood::medium);
  EXPECT_EQ(found[1].likelihood, Likelihood::identity);
  EXPECT_EQ(found[1].why, "the process, no setting");
}

TEST(FingerprintDiff, OnlyWhatACaptureHidIsUnknown) {
  const auto with = [](const char* path) { return Json{{"environment", {{"LD_PRELOAD", path}}}}; };
  EXPECT_EQ(diff_fingerprints(with("/lib/hidden.so"), with("/lib/hidden_state.so")).size(), 1u);
  EXPECT_TRUE(diff_fingerprints(with("(hidden)"), with("/lib/a.so")).empty());
  EXPECT_TRUE(diff_fingerprints(with("/lib/hidden12/a.so"), with("/lib/hidden3/a.so")).empty());
}

TEST(FingerprintDiff, AHypervisorComesBeforeWhatFollowsFromIt) {
  const auto found = diff_fingerprints(
      Json::parse(R"({"cpu": {"model": "EPYC"}, "virtualization": {"hypervisor": "none"}})"),
      Json::parse(R"({"cpu": {"model": "QEMU"}, "virtualization": {"hypervisor": "qemu"}})"));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].path, "virtualization.hypervisor");
  EXPECT_EQ(found[1].path, "cpu.model");
}

TEST(FingerprintDiff, ALimitComesBeforeTheDeviceThatFollowsFromIt) {
  const auto found =
      diff_fingerprints(Json::parse(R"({"backends": {"cpu": {"devices": [{"multiprocessors": 2,
                      "memory_bytes": 25276510208}]}}, "cpu": {"affinity": "0-1"}})"),
                        Json::parse(R"({"backends": {"cpu": {"devices": [{"multiprocessors": 1,
                      "memory_bytes": 2147483648}]}}, "cpu": {"affinity": "0"},
                      "cgroup": {"cpu_limit": 0.2, "memory_limit_bytes": 2147483648}})"));
  ASSERT_EQ(found.size(), 5u);
  EXPECT_EQ(found[0].path, "cgroup.cpu_limit");
  EXPECT_EQ(found[1].path, "cpu.affinity");
  EXPECT_EQ(found[2].path, "backends.cpu.devices.0.multiprocessors");
  EXPECT_EQ(found[2].likelihood, Likelihood::high);
  EXPECT_EQ(found[4].path, "backends.cpu.devices.0.memory_bytes");
  EXPECT_EQ(found[4].likelihood, Likelihood::medium);
}

TEST(FingerprintDiff, AnObjectWithoutMembersIsNoDifference) {
  const auto found = diff_fingerprints(Json::parse(R"({"libraries": {"hip": {"version": 6}}})"),
                                       Json::parse(R"({"libraries": {}})"));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].path, "libraries.hip.version");
}

TEST(FingerprintDiff, KernelOptionsAreComparedOneByOne) {
  const auto booted = [](const char* line) { return Json{{"host", {{"command_line", line}}}}; };
  const auto differences = diff_fingerprints(
      booted("BOOT_IMAGE=/a root=/dev/sda1 ro quiet iommu=pt console=tty0 console=ttyS0"),
      booted("console=tty0 console=ttyS1 root=/dev/vda1 iommu=off ro BOOT_IMAGE=/a x=\"a b\""));
  const std::vector<std::array<std::string, 3>> expected = {
      {"host.command_line.console", "\"tty0 ttyS0\"", "\"tty0 ttyS1\""},
      {"host.command_line.iommu", "\"pt\"", "\"off\""},
      {"host.command_line.quiet", "true", "null"},
      {"host.command_line.x", "null", "\"\\\"a b\\\"\""},
      {"host.command_line.root", "\"/dev/sda1\"", "\"/dev/vda1\""}};
  ASSERT_EQ(differences.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(differences[i].path, expected[i][0]);
    EXPECT_EQ(differences[i].a.dump(), expected[i][1]);
    EXPECT_EQ(differences[i].b.dump(), expected[i][2]);
  }
  EXPECT_EQ(differences[1].likelihood, Likelihood::medium);
  EXPECT_EQ(differences[4].likelihood, Likelihood::identity);
}

TEST(FingerprintDiff, ChangesThatAreNotAlikeStayApart) {
  Json b = two_gpus(750, "a");
  b["accelerators"][1]["power_cap_watts"] = 500;
  const auto differences = diff_fingerprints(two_gpus(750, "a"), b);
  ASSERT_EQ(differences.size(), 1u);
  EXPECT_EQ(differences[0].path, "accelerators.1.power_cap_watts");
}

TEST(FingerprintDiff, AcceptsAnyJson) {
  Json deep = 1;
  for (int i = 0; i < 100; ++i) deep = Json{{"x", deep}};
  EXPECT_EQ(diff_fingerprints(deep, {}).size(), 1u);
  EXPECT_EQ(diff_fingerprints({{"accelerators", {{"99999999999999", {{"name", 1}}}}}}, {}).size(),
            1u);
  EXPECT_TRUE(diff_fingerprints(1, 2).empty());
}

}  // namespace
}  // namespace assay

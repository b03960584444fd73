#include "machine/system/recordable_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace assay {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

constexpr const char* hash = "#[0-9a-f]{4}";

TEST(KnownSettings, TheSecretOfARunIsNoSetting) {
  EXPECT_TRUE(is_performance_variable("ASSAY_FAKE"));
  EXPECT_FALSE(is_performance_variable("ASSAY_TOKEN"));
  EXPECT_FALSE(is_performance_variable("ASSAY_TOKEN_FILE"));
}

TEST(KnownSettings, WhatMpirunSetsForEachProcessIsNoSetting) {
  for (const char* name : {"OMPI_MCA_btl", "OMPI_MCA_mpi_oversubscribe", "OMPI_COMM_WORLD_SIZE"}) {
    EXPECT_TRUE(is_performance_variable(name)) << name;
  }
  for (const char* name : {"OMPI_MCA_orte_hnp_uri", "OMPI_MCA_orte_precondition_transports",
                           "OMPI_FILE_LOCATION", "OMPI_MCA_ess_base_jobid", "OMPI_ARGV"}) {
    EXPECT_FALSE(is_performance_variable(name)) << name;
  }
}

TEST(KnownSettings, OfKnownVariablesTheValueOfOthersAHash) {
  EXPECT_EQ(recorded_value("NCCL_P2P_LEVEL", "SYS"), "SYS");
  EXPECT_EQ(recorded_value("LD_LIBRARY_PATH", "/opt/rocm/lib:/usr/lib"), "/opt/rocm/lib:/usr/lib");
  EXPECT_EQ(recorded_value("PYTORCH_HIP_ALLOC_CONF", "expandable_segments:True"),
            "expandable_segments:True");
  EXPECT_EQ(recorded_value("OMP_PLACES", "{0:4}, {4:4}"), "{0:4}, {4:4}");
  EXPECT_EQ(recorded_value("HIP_LAUNCH_BLOCKING", ""), "");
  using Pair = std::array<const char*, 2>;
  for (const auto& [name, value] :
       {Pair{"VLLM_ARGS", "--api-key hunter2"}, Pair{"ROCM_PAT", "hunter2"},
        Pair{"NCCL_DEBUG_FILE", "https://h/hunter2?token=hunter2"},
        Pair{"LD_PRELOAD", "sshpass -p hunter2 --password"}, Pair{"NCCL_NET", "Bearer hunter2"},
        Pair{"NCCL_SOCKET_IFNAME", "{\"api_key\": \"hunter2\"}"},
        Pair{"NCCL_IB_HCA", "u:hunter2@h"}, Pair{"HIP_KEYS", "hunter2"},
        Pair{"CUDA_PSK", "hunter2"}, Pair{"AMD_JWT", "hunter2"}}) {
    EXPECT_THAT(recorded_value(name, value), MatchesRegex(hash)) << name;
  }
  EXPECT_NE(recorded_value("ROCM_PAT", "a"), recorded_value("ROCM_PAT", "b"));
  EXPECT_EQ(recorded_value("ROCM_PAT", "a"), recorded_value("ROCM_PAT", "a"));
}

TEST(KnownSettings, ANameInsideAnotherIsNotKnown) {
  EXPECT_THAT(recorded_value("NCCL_P2P", "1"), MatchesRegex(hash));
  EXPECT_THAT(recorded_value("P2P_LEVEL", "1"), MatchesRegex(hash));
  EXPECT_THAT(recorded_value("", "1"), MatchesRegex(hash));
}

TEST(KnownSettings, OfTheKernelsCommandLineTheOptionsThatChangeSpeed) {
  EXPECT_EQ(recorded_file("proc/cmdline", "iommu=pt  pci=realloc=off quiet isolcpus=1-7\n"),
            "iommu=pt pci=realloc=off quiet isolcpus=1-7\n");
  EXPECT_EQ(recorded_file("proc/cmdline", "memmap=\"4G 8G\" ro"), "memmap=\"4G 8G\" ro\n");
  for (const char* line :
       {"systemd.setenv=HF_TOKEN=hunter2", "netroot=iscsi:user:hunter2@10.0.0.1::x",
        "--auth-token hunter2", "wifi.psk=hunter2", "passphrase=\"my hunter2\"",
        "cifs=//h/s,user=a,password=hunter2", "ds=nocloud;s=https://h/y?token=hunter2",
        "root=UUID=hunter2", "hunter2", "a b=hunter2 -- init hunter2", "quiet=token=hunter2"}) {
    EXPECT_THAT(recorded_file("proc/cmdline", line), Not(HasSubstr("hunter2"))) << line;
  }
  EXPECT_THAT(recorded_file("proc/cmdline", "wifi.psk=hunter2"), MatchesRegex("wifi.psk=#....\n"));
}

TEST(KnownSettings, WhatIsRecordedTwiceIsTheSameAsOnce) {
  const std::string once = recorded_file("proc/cmdline", "quiet a=hunter2 hunter2 -- --x");
  EXPECT_EQ(recorded_file("proc/cmdline", once), once);
  const std::string mounts = recorded_file("proc/self/mounts", "u:hunter2@h:/x /m nfs sec=y 0 0");
  EXPECT_EQ(recorded_file("proc/self/mounts", mounts), mounts);
  const std::string value = recorded_value("ROCM_PAT", "hunter2");
  EXPECT_EQ(recorded_value("ROCM_PAT", value), value);
}

TEST(KnownSettings, OfMountsTheirKindAndPlace) {
  const std::string root =
      "27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda1 rw,errors=remount-ro\n";
  EXPECT_EQ(recorded_file("proc/self/mountinfo", root), root);
  const std::string layers =
      "30 1 0:5 / / rw - overlay overlay rw,lowerdir=/var/lib/docker/overlay2/l/A:/b,upperdir=/c\n";
  EXPECT_EQ(recorded_file("proc/self/mountinfo", layers), layers);
  const std::string shared = "tmpfs /dev/shm tmpfs rw,nosuid,size=65536k 0 0\n";
  EXPECT_EQ(recorded_file("proc/self/mounts", shared), shared);
  for (const char* line : {"40 1 0:9 / /m rw - fuse.davfs https://user:hunter2@h/dav rw,user_id=0",
                           "40 1 0:9 / /m rw,password=hunter2 - cifs //h/s rw,password=hunter2",
                           "40 1 0:9 / /m rw hunter2"}) {
    EXPECT_THAT(recorded_file("proc/self/mountinfo", line), Not(HasSubstr("hunter2"))) << line;
  }
  EXPECT_THAT(recorded_file("proc/self/mounts", "u:hunter2@h:/x /m nfs rw,sec=hunter2 0 0"),
              MatchesRegex("#.... /m nfs rw,sec=#.... 0 0\n"));
}

TEST(KnownSettings, WhatIsNoTextIsNotRecorded) {
  EXPECT_EQ(recorded_file("proc/cmdline", "quiet \x01 hunter2"), "\x01");
  EXPECT_EQ(recorded_file("proc/self/mountinfo", "\x02 hunter2"), "\x01");
}

TEST(KnownSettings, OtherFilesAreRecordedAsTheyAre) {
  EXPECT_EQ(recorded_file("proc/cpuinfo", "model name : x\n"), "model name : x\n");
}

}  // namespace
}  // namespace assay

#include "serving/visible_devices.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "machines/memory_machine.h"

namespace assay {
namespace {

using testing::ElementsAre;

MemoryMachine amd_machine(int gpus) {
  MemoryMachine machine;
  for (int i = 1; i <= gpus; ++i) {
    machine.write(fmt::format("sys/class/kfd/kfd/topology/nodes/{}/properties", i),
                  "simd_count 1216\nsimd_per_cu 4\ngfx_target_version 90402\n");
  }
  return machine;
}

TEST(VisibleDevices, AnAmdGpuOrPartitionEach) {
  const auto visible = visible_devices(amd_machine(3));
  ASSERT_TRUE(visible.has_value());
  EXPECT_EQ(visible->variable, "HIP_VISIBLE_DEVICES");
  EXPECT_THAT(visible->devices, ElementsAre("0", "1", "2"));
}

TEST(VisibleDevices, ExistingSettingsHold) {
  MemoryMachine machine = amd_machine(8);
  machine.set("ROCR_VISIBLE_DEVICES", "4,6");
  EXPECT_THAT(visible_devices(machine)->devices, ElementsAre("0", "1"));  // HIP renumbers them
  machine.set("HIP_VISIBLE_DEVICES", "5, 7,");
  EXPECT_THAT(visible_devices(machine)->devices, ElementsAre("5", "7"));
}

TEST(VisibleDevices, HipReadsCudasVariableUnlessItsOwnIsSet) {
  MemoryMachine machine = amd_machine(8);
  machine.set("CUDA_VISIBLE_DEVICES", "2,3");
  EXPECT_EQ(visible_devices(machine)->variable, "HIP_VISIBLE_DEVICES");
  EXPECT_THAT(visible_devices(machine)->devices, ElementsAre("2", "3"));
  machine.set("HIP_VISIBLE_DEVICES", "");  // hides all
  EXPECT_THAT(visible_devices(machine)->devices, ElementsAre());
}

TEST(VisibleDevices, NvidiaGpusHaveTheirOwnVariable) {
  MemoryMachine machine;
  EXPECT_FALSE(visible_devices(machine).has_value());
  machine.answer("nvidia", Json::parse(R"({"gpus":[{"vendor":"nvidia"},{"vendor":"nvidia"}]})"));
  const auto visible = visible_devices(machine);
  ASSERT_TRUE(visible.has_value());
  EXPECT_EQ(visible->variable, "CUDA_VISIBLE_DEVICES");
  EXPECT_THAT(visible->devices, ElementsAre("0", "1"));
}

}  // namespace
}  // namespace assay

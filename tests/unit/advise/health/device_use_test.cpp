// Whether others use a device, by the files of made-up machines.
#include "advise/health/device_use.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/temporary_folder.h"

namespace assay::health {
namespace {

using testing::HasSubstr;

DeviceFacts gpu_at(const std::string& pci) {
  DeviceFacts facts;
  facts.backend = "hip";
  facts.ordinal = 3;
  facts.pci = pci;
  return facts;
}

void write_used(const TemporaryFolder& folder, const std::string& bytes) {
  folder.write("sys/bus/pci/drivers/amdgpu/0000:3b:00.0/vendor", "0x1002\n");
  folder.write("sys/bus/pci/devices/0000:3b:00.0/mem_info_vram_used", bytes + "\n");
}

TEST(DeviceUse, MemoryOfOtherProcessesShowsInTelemetry) {
  const TemporaryFolder folder;
  write_used(folder, "2147483648");
  EXPECT_TRUE(check_unused(gpu_at("0000:3b:00.0"), folder.path()).ok());
  write_used(folder, "3221225472");
  const Status used = check_unused(gpu_at("0000:3b:00.0"), folder.path());
  ASSERT_FALSE(used.ok());
  EXPECT_EQ(used.error().kind, ErrorKind::unavailable);
  EXPECT_THAT(used.error().message, HasSubstr("3 GiB of the memory of hip:3 are in use"));
  // Another GPU's memory does not count, nor does a device that is not on the bus.
  EXPECT_TRUE(check_unused(gpu_at("0000:5e:00.0"), folder.path()).ok());
  EXPECT_TRUE(check_unused(gpu_at(""), folder.path()).ok());
}

}  // namespace
}  // namespace assay::health

// NVML's answers made into facts, from a made-up library that has some functions and lacks others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include "compute/backends/cuda/nvml_facts.h"

namespace assay::cuda {
namespace {

using testing::ElementsAre;
using testing::Pair;

constexpr int not_supported = 3;

int give(unsigned* target, unsigned value) {
  *target = value;
  return nvml::success;
}
int give(char* target, unsigned length, const char* text) {
  std::snprintf(target, length, "%s", text);
  return nvml::success;
}

/// An H200 with three NVLinks: to a switch, to another GPU, and one that is down.
NvmlApi h200() {
  NvmlApi api{};
  api.name = [](NvmlDevice*, char* text, unsigned n) { return give(text, n, "NVIDIA H200"); };
  api.uuid = [](NvmlDevice*, char* text, unsigned n) { return give(text, n, "GPU-1234"); };
  api.serial = [](NvmlDevice*, char*, unsigned) { return not_supported; };
  api.vbios = [](NvmlDevice*, char* text, unsigned n) { return give(text, n, "96.00.D0.00.01"); };
  api.inforom_image = [](NvmlDevice*, char* text, unsigned n) { return give(text, n, "G520"); };
  api.inforom = [](NvmlDevice*, int object, char* text, unsigned n) {
    return object == nvml::inforom_oem ? give(text, n, "2.1") : not_supported;
  };
  api.pci = [](NvmlDevice*, NvmlPci* pci) {
    *pci = {{}, 0, 0x3b, 0, 0x233510de, 0, {}};
    return nvml::success;
  };
  api.capability = [](NvmlDevice*, int* major, int* minor) {
    *major = 9;
    *minor = 0;
    return nvml::success;
  };
  api.cores = [](NvmlDevice*, unsigned* cores) { return give(cores, 132 * 128); };
  api.minor_number = [](NvmlDevice*, unsigned* number) { return give(number, 5); };
  api.memory = [](NvmlDevice*, NvmlMemory* memory) {
    *memory = {150'754'820'096, 1, 2};
    return nvml::success;
  };
  api.power_limit = [](NvmlDevice*, unsigned* milliwatts) { return give(milliwatts, 700'000); };
  api.power_limit_range = [](NvmlDevice*, unsigned* least, unsigned* most) {
    *least = 200'000;
    return give(most, 750'000);
  };
  api.pcie_generation = [](NvmlDevice*, unsigned* value) { return give(value, 5); };
  api.pcie_width = [](NvmlDevice*, unsigned* value) { return give(value, 16); };
  api.clock = [](NvmlDevice*, int type, unsigned* mhz) {
    return give(mhz, type == nvml::clock_sm ? 1980 : 3201);
  };
  api.power = [](NvmlDevice*, unsigned* milliwatts) { return give(milliwatts, 612'345); };
  api.throttle_reasons = [](NvmlDevice*, unsigned long long* bits) {
    *bits = 0x4 | 0x1;
    return nvml::success;
  };
  api.ecc_errors = [](NvmlDevice*, int type, int, unsigned long long* count) {
    *count = type == nvml::ecc_corrected ? 3 : 0;
    return nvml::success;
  };
  api.remapped_rows = [](NvmlDevice*, unsigned* corrected, unsigned* uncorrected, unsigned* pending,
                         unsigned* failed) {
    *corrected = 1;
    *uncorrected = 2;
    *pending = *failed = 0;
    return nvml::success;
  };
  api.nvlink_state = [](NvmlDevice*, unsigned link, int* active) {
    *active = link == 2 ? 0 : 1;
    return link < 3 ? nvml::success : not_supported;
  };
  api.nvlink_remote_type = [](NvmlDevice*, unsigned link, int* type) {
    *type = link == 0 ? nvml::link_to_switch : nvml::link_to_gpu;
    return link < 2 ? nvml::success : not_supported;
  };
  api.nvlink_remote_pci = [](NvmlDevice*, unsigned link, NvmlPci* pci) {
    *pci = {{}, 1, 0x5d, 0, 0x233510de, 0, {}};
    return link == 1 ? nvml::success : not_supported;
  };
  api.field_values = [](NvmlDevice*, int, NvmlFieldValue* value) {
    value->status = value->field == nvml::field_nvlink_speed ? nvml::success : not_supported;
    value->type = nvml::type_unsigned;
    value->as_unsigned = 26'562;
    return nvml::success;
  };
  return api;
}

TEST(NvmlFacts, OfAnH200) {
  const Gpu gpu = nvml_gpu(h200(), nullptr, 3);
  EXPECT_EQ(gpu.vendor, "nvidia");
  EXPECT_EQ(gpu.index, 3);
  EXPECT_EQ(gpu.name, "NVIDIA H200");
  EXPECT_EQ(gpu.arch, "sm_90");
  EXPECT_EQ(gpu.pci, "0000:3b:00.0");
  EXPECT_EQ(gpu.device_id, "2335");
  EXPECT_EQ(gpu.serial, "");
  EXPECT_THAT(gpu.firmware, ElementsAre(Pair("inforom", "G520"), Pair("inforom_oem", "2.1")));
  EXPECT_EQ(gpu.compute_units, 132);
  EXPECT_EQ(gpu.memory_bytes, 150'754'820'096u);
  EXPECT_FALSE(gpu.visible_memory_bytes);
  EXPECT_FALSE(gpu.ecc);
  EXPECT_EQ(gpu.power_cap_watts, 700);
  EXPECT_EQ(gpu.power_cap_max_watts, 750);
  EXPECT_EQ(gpu.pcie.speed_gts, 32);
  EXPECT_FALSE(gpu.pcie.speed_max_gts);
  EXPECT_EQ(gpu.pcie.width, 16);
  EXPECT_THAT(gpu.device_files, ElementsAre("dev/nvidia5"));
  EXPECT_FALSE(gpu.virtual_function);
}

TEST(NvmlFacts, LinksAndState) {
  const Gpu gpu = nvml_gpu(h200(), nullptr, 0);
  ASSERT_EQ(gpu.links.size(), 3u);
  EXPECT_EQ(gpu.links[0].peer, "switch");
  EXPECT_EQ(gpu.links[1].peer, "0001:5d:00.0");
  EXPECT_EQ(gpu.links[2].peer, "");
  EXPECT_TRUE(gpu.links[0].up);
  EXPECT_FALSE(gpu.links[2].up);
  EXPECT_EQ(gpu.links[0].bytes_per_second, 26.562e9);
  EXPECT_THAT(gpu.state.engine_clocks_hz, ElementsAre(1980e6));
  EXPECT_DOUBLE_EQ(gpu.state.power_watts.value_or(0), 612.345);
  EXPECT_EQ(gpu.state.throttle_reasons, "sw_power_cap");
  EXPECT_EQ(gpu.state.correctable_errors, 3);
  EXPECT_EQ(gpu.state.uncorrectable_errors, 0);
  EXPECT_EQ(gpu.state.retired_pages, 3);
  EXPECT_FALSE(gpu.state.pcie_replays);
  EXPECT_FALSE(gpu.state.utilisation_percent);
}

TEST(NvmlFacts, ALibraryWithNothingGivesNothing) {
  const NvmlApi empty{};
  const Gpu gpu = nvml_gpu(empty, nullptr, 0);
  EXPECT_EQ(gpu.name, "");
  EXPECT_FALSE(gpu.memory_bytes);
  EXPECT_TRUE(gpu.links.empty());
  EXPECT_FALSE(gpu.state.power_watts);
  EXPECT_TRUE(std::isnan(field_value(empty, nullptr, nvml::field_power_instant)));
}

TEST(NvmlFacts, Tables) {
  EXPECT_EQ(pcie_speed_gts(4), 16);
  EXPECT_EQ(pcie_speed_gts(6), 64);
  EXPECT_EQ(pcie_speed_gts(0), 0);
  EXPECT_EQ(pcie_speed_gts(99), 0);
  EXPECT_EQ(cores_per_multiprocessor(7, 0), 64);
  EXPECT_EQ(cores_per_multiprocessor(8, 0), 64);
  EXPECT_EQ(cores_per_multiprocessor(8, 6), 128);
  EXPECT_EQ(cores_per_multiprocessor(9, 0), 128);
  EXPECT_EQ(cores_per_multiprocessor(10, 0), 128);
  EXPECT_EQ(cores_per_multiprocessor(99, 0), 0);
}

}  // namespace
}  // namespace assay::cuda

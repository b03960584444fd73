#include "machine/system/gpu.h"

#include <gtest/gtest.h>

#include "core/json.h"

namespace assay {
namespace {

Gpu a_gpu() {
  Gpu gpu;
  gpu.vendor = "amd";
  gpu.index = 3;
  gpu.name = "AMD Instinct MI300X";
  gpu.firmware = {{"sdma", "24"}};
  gpu.compute_units = 304;
  gpu.memory_bytes = std::uint64_t{192} << 30;
  gpu.ecc = false;
  gpu.power_cap_watts = 750;
  gpu.pcie.speed_gts = 16;
  gpu.numa_node = -1;
  gpu.virtual_function = true;
  gpu.device_files = {"dev/dri/renderD128"};
  gpu.links = {{"xgmi", "0000:c1:00.0", false, 64e9}};
  gpu.state.engine_clocks_hz = {2.1e9, 2.0e9};
  gpu.state.correctable_errors = 7;
  return gpu;
}

TEST(Gpu, ReadsWhatItWrote) {
  const Json json = to_json(a_gpu(), true);
  EXPECT_EQ(to_json(gpu_from_json(Json::parse(json.dump())), true), json);
  const Gpu gpu = gpu_from_json(json);
  EXPECT_EQ(gpu.index, 3);
  EXPECT_EQ(gpu.ecc, false);
  EXPECT_EQ(gpu.memory_bytes, std::uint64_t{192} << 30);
  EXPECT_FALSE(gpu.links.at(0).up);
  EXPECT_EQ(gpu.state.engine_clocks_hz.size(), 2u);
}

TEST(Gpu, OnlyHiddenGpusSaySo) {
  Gpu gpu = a_gpu();
  gpu.visible = true;
  EXPECT_FALSE(to_json(gpu, true).contains("visible"));
  gpu.visible = false;
  EXPECT_EQ(gpu_from_json(to_json(gpu, false)).visible, false);
}

TEST(Gpu, AFingerprintHoldsNothingThatChangesByItself) {
  const Json json = to_json(a_gpu(), false);
  EXPECT_FALSE(json.contains("state"));
  EXPECT_FALSE(json.contains("pcie_speed_gts"));
  EXPECT_TRUE(json.contains("ecc"));
  EXPECT_FALSE(json.contains("vbios"));  // unknown, so left out
}

TEST(Gpu, FieldsOfTheWrongTypeAreLeftOut) {
  const Json json = {
      {"name", 7},       {"index", "x"},    {"ecc", "on"},       {"links", {1, "x"}},
      {"firmware", {1}}, {"state", "busy"}, {"device_files", 3}, {"memory_bytes", Json::array()}};
  const Gpu gpu = gpu_from_json(json);
  EXPECT_EQ(gpu.name, "");
  EXPECT_EQ(gpu.index, 0);
  EXPECT_FALSE(gpu.ecc);
  EXPECT_TRUE(gpu.links.empty());
  EXPECT_TRUE(gpu.firmware.empty());
  EXPECT_FALSE(gpu.memory_bytes);
  EXPECT_EQ(gpu_from_json(Json(5)).vendor, "");
}

TEST(Gpu, ATextIsNoListAndNoFractionIsAnInteger) {
  const Gpu gpu = gpu_from_json({{"device_files", "dev/dri/renderD128"},
                                 {"compute_units", 1e300},
                                 {"numa_node", 0.5},
                                 {"firmware", {{"smc", 7}, {"sdma", "24"}}}});
  EXPECT_TRUE(gpu.device_files.empty());
  EXPECT_FALSE(gpu.compute_units);
  EXPECT_FALSE(gpu.numa_node);
  EXPECT_EQ(gpu.firmware.size(), 1u);
}

}  // namespace
}  // namespace assay

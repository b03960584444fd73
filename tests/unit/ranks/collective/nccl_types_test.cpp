// What NCCL and RCCL can do, by version and device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ranks/collective/nccl_library.h"

namespace assay::nccl {
namespace {

using testing::HasSubstr;

std::string why(const Vendor& vendor, int version, const char* arch, DataType type,
                Reduction reduction = Reduction::sum,
                CollectiveOperation operation = CollectiveOperation::all_reduce) {
  DeviceFacts facts;
  facts.arch = arch;
  return lacks(vendor, version, facts, operation, type, reduction).value_or("");
}

TEST(NcclTypes, VersionsAsText) {
  EXPECT_EQ(version_text(22809), "2.28.9");
  EXPECT_EQ(version_text(20303), "2.3.3");
  EXPECT_EQ(version_text(2804), "2.8.4");
}

TEST(NcclTypes, WhatEveryVersionReduces) {
  for (const DataType type :
       {DataType::f64, DataType::f32, DataType::f16, DataType::i8, DataType::i32, DataType::u8,
        DataType::u32, DataType::i64, DataType::u64}) {
    EXPECT_EQ(why(nvidia, 2804, "sm_70", type), "") << name_of(type);
    EXPECT_EQ(why(amd, 2804, "gfx908", type), "") << name_of(type);
  }
  EXPECT_THAT(why(nvidia, 22809, "sm_90", DataType::tf32), HasSubstr("f32"));
}

TEST(NcclTypes, Bf16AndAvgCameWith210) {
  EXPECT_THAT(why(nvidia, 2804, "sm_80", DataType::bf16), HasSubstr("2.8.4 has no bf16"));
  EXPECT_EQ(why(nvidia, 21003, "sm_80", DataType::bf16), "");
  EXPECT_THAT(why(amd, 2804, "gfx90a", DataType::f32, Reduction::avg), HasSubstr("no avg"));
  EXPECT_EQ(why(amd, 21003, "gfx90a", DataType::i32, Reduction::avg), "");
  EXPECT_EQ(why(amd, 2804, "gfx90a", DataType::f32, Reduction::avg, CollectiveOperation::broadcast),
            "");
}

TEST(NcclTypes, Fp8OfNvidia) {
  EXPECT_EQ(why(nvidia, 22403, "sm_90", DataType::e4m3), "");
  EXPECT_EQ(why(nvidia, 22403, "sm_100", DataType::e5m2), "");
  EXPECT_THAT(why(nvidia, 22304, "sm_90", DataType::e4m3), HasSubstr("it was added in 2.24.0"));
  EXPECT_THAT(why(nvidia, 22403, "sm_89", DataType::e4m3), HasSubstr("sm_90"));
  EXPECT_THAT(why(nvidia, 22403, "sm_80", DataType::e4m3), HasSubstr("sm_80 has no fp8"));
  EXPECT_THAT(why(nvidia, 22403, "sm_90", DataType::e4m3_fnuz), HasSubstr("FNUZ"));
  EXPECT_EQ(
      why(nvidia, 2804, "sm_70", DataType::e4m3, Reduction::sum, CollectiveOperation::all_gather),
      "");  // moved as bytes
}

TEST(NcclTypes, Fp8OfAmdIsTheDevicesEncoding) {
  EXPECT_EQ(why(amd, 22005, "gfx942:sramecc+:xnack-", DataType::e4m3_fnuz), "");
  EXPECT_THAT(why(amd, 22005, "gfx942", DataType::e4m3), HasSubstr("e4m3_fnuz"));
  EXPECT_EQ(why(amd, 22707, "gfx950", DataType::e5m2), "");
  EXPECT_THAT(why(amd, 22707, "gfx950", DataType::e5m2_fnuz), HasSubstr("OCP"));
  EXPECT_THAT(why(amd, 22707, "gfx90a", DataType::e4m3), HasSubstr("gfx90a"));
  EXPECT_THAT(why(amd, 21803, "gfx942", DataType::e4m3_fnuz), HasSubstr("was added in 2.20.5"));
}

}  // namespace
}  // namespace assay::nccl

// The limits of tensor maps, and of clusters of blocks: what no device could take is named.
#include "compute/device/tensor_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compute/device/device.h"

namespace assay {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t two_to_the_32 = std::uint64_t{1} << 32;

/// A bf16 matrix of 4096 x 4096 in boxes of 128 rows of 128 bytes.
TensorLayout matrix() {
  return {reinterpret_cast<const void*>(std::uintptr_t{0x7000}),
          DataType::bf16,
          {{4096, 64}, {4096, 128, 8192}},
          TensorSwizzle::bytes_128};
}

template <typename Change>
std::string complaint(const Change& change) {
  TensorLayout layout = matrix();
  change(layout);
  const Status status = check_tensor_layout(layout);
  if (status) return "";
  EXPECT_EQ(status.error().kind, ErrorKind::failed);
  return status.error().message;
}

TEST(TensorMaps, AreTheDriversInSizeAndAlignment) {
  EXPECT_EQ(sizeof(TensorMap), 128u);
  EXPECT_EQ(alignof(TensorMap), 64u);
}

TEST(TensorMaps, WhatIsPossible) {
  EXPECT_EQ(complaint([](TensorLayout&) {}), "");
  EXPECT_EQ(complaint([](TensorLayout& l) { l.dimensions.resize(1); }), "");
  EXPECT_EQ(complaint([](TensorLayout& l) { l.dimensions.resize(5, {2, 1, 1 << 30}); }), "");
  EXPECT_EQ(complaint([](TensorLayout& l) { l.dimensions[0].stride_bytes = 2; }), "");
  EXPECT_EQ(complaint([](TensorLayout& l) { l.dimensions[1].size = two_to_the_32; }), "");
  EXPECT_EQ(complaint([](TensorLayout& l) { l.dimensions[1].box = 256; }), "");
  EXPECT_EQ(complaint([](TensorLayout& l) {
              l.swizzle = TensorSwizzle::none;
              l.dimensions[0].box = 256;
            }),
            "");
  for (const unsigned bytes : {0u, 64u, 128u, 256u}) {
    EXPECT_EQ(complaint([&](TensorLayout& l) { l.l2_bytes = bytes; }), "");
  }
}

TEST(TensorMaps, EveryLimitIsNamed) {
  EXPECT_EQ(complaint([](TensorLayout& l) { l.dimensions.clear(); }),
            "tensor map: 0 dimensions; 1 to 5 are possible");
  EXPECT_EQ(complaint([](TensorLayout& l) {
              l.dimensions.resize(6, {2, 1, 1 << 30});
            }),
            "tensor map: 6 dimensions; 1 to 5 are possible");
  EXPECT_EQ(complaint([](TensorLayout& l) {
              l.address = reinterpret_cast<const void*>(std::uintptr_t{0x7008});
            }),
            "tensor map: address 0x7008 is not a multiple of 16");
  EXPECT_THAT(complaint([](TensorLayout& l) { l.address = nullptr; }), HasSubstr("address 0x0 is"));
  EXPECT_EQ(complaint([](TensorLayout& l) { l.dimensions[0].size = 0; }),
            "tensor map: dimension 0 has 0 elements; 1 to 4294967296 are possible");
  EXPECT_THAT(complaint([](TensorLayout& l) { l.dimensions[1].size = two_to_the_32 + 1; }),
              HasSubstr("dimension 1 has 4294967297 elements"));
  EXPECT_EQ(complaint([](TensorLayout& l) { l.dimensions[1].box = 257; }),
            "tensor map: the box has 257 elements in dimension 1; 1 to 256 are possible");
  EXPECT_THAT(complaint([](TensorLayout& l) { l.dimensions[0].box = 0; }),
              HasSubstr("the box has 0 elements in dimension 0"));
  EXPECT_EQ(complaint([](TensorLayout& l) { l.dimensions[0].stride_bytes = 8192; }),
            "tensor map: dimension 0 has a stride of 8192 bytes; it must be dense: list the "
            "dimension whose elements are adjacent first");
  for (const std::uint64_t stride :
       {std::uint64_t{0}, std::uint64_t{8200}, std::uint64_t{1} << 40}) {
    EXPECT_EQ(complaint([&](TensorLayout& l) { l.dimensions[1].stride_bytes = stride; }),
              "tensor map: dimension 1 has a stride of " + std::to_string(stride) +
                  " bytes; multiples of 16 below 2^40 are possible: pad the rows");
  }
  EXPECT_EQ(complaint([](TensorLayout& l) { l.dimensions[0].box = 63; }),
            "tensor map: a row of the box has 126 bytes; multiples of 16 are possible");
  EXPECT_EQ(complaint([](TensorLayout& l) { l.dimensions[0].box = 72; }),
            "tensor map: a row of the box has 144 bytes; 128 are possible with a swizzle of 128 "
            "bytes: split the box");
  EXPECT_THAT(complaint([](TensorLayout& l) { l.swizzle = TensorSwizzle::bytes_64; }),
              HasSubstr("64 are possible"));
  EXPECT_THAT(complaint([](TensorLayout& l) { l.swizzle = TensorSwizzle::bytes_32; }),
              HasSubstr("32 are possible"));
  EXPECT_EQ(complaint([](TensorLayout& l) { l.l2_bytes = 32; }),
            "tensor map: 32 bytes fetched into L2; 0, 64, 128 and 256 are possible");
}

TEST(Clusters, WhatNoDeviceCouldRunIsNamed) {
  EXPECT_TRUE(check_cluster({2}, {132}));
  EXPECT_TRUE(check_cluster({2, 2, 2}, {4, 2, 6}));
  EXPECT_EQ(check_cluster({16}, {32}).error().message,
            "a cluster of 16x1x1 blocks; 1 to 8 blocks are possible");
  EXPECT_EQ(check_cluster({2, 0}, {32}).error().message,
            "a cluster of 2x0x1 blocks; 1 to 8 blocks are possible");
  EXPECT_EQ(
      check_cluster({2, 2}, {32, 3}).error().message,
      "a grid of 32x3x1 blocks in clusters of 2x2x1; the cluster must divide the grid in each "
      "direction");
}

}  // namespace
}  // namespace assay

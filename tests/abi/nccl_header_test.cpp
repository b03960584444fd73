// Our prototypes and numbers against nccl.h, NVIDIA's or AMD's.
#include <gtest/gtest.h>

#include "abi/abi_match.h"
#include "ranks/collective/nccl_api.h"

#if __has_include(<nccl.h>)
#include <nccl.h>
#define HAS_NCCL_HEADER
#elif __has_include(<rccl/rccl.h>)
#define __HIP_PLATFORM_AMD__
#include <rccl/rccl.h>
#define HAS_NCCL_HEADER
#endif

#ifdef HAS_NCCL_HEADER
namespace assay::nccl {
namespace {

#define MATCH(member, symbol, parameters) ASSAY_EXPECT_MATCH(Functions, member, symbol)
TEST(NcclHeader, Prototypes) {
  ASSAY_NCCL_FUNCTIONS(MATCH)
  ASSAY_EXPECT_MATCH(Functions, error_string, ncclGetErrorString)
  ASSAY_EXPECT_MATCH(Functions, last_error, ncclGetLastError)
#if NCCL_VERSION_CODE >= 22800
  ASSAY_NCCL_OPTIONAL_FUNCTIONS(MATCH)
#endif
#if defined(RCCL_GATHER_SCATTER)
  ASSAY_EXPECT_MATCH(Functions, all_to_all, ncclAllToAll)
#elif NCCL_VERSION_CODE >= 22800
  ASSAY_EXPECT_MATCH(Functions, all_to_all, ncclAlltoAll)
#endif
}

/// The identifier is passed by value, so the other parameters are compared one by one.
TEST(NcclHeader, TheIdentifierIsPassedAlike) {
  EXPECT_EQ(sizeof(UniqueId), sizeof(ncclUniqueId));
  EXPECT_EQ(alignof(UniqueId), alignof(ncclUniqueId));
  EXPECT_TRUE(std::is_trivially_copyable_v<UniqueId>);
  using Theirs = ncclResult_t (*)(ncclComm_t*, int, ncclUniqueId, int);
  EXPECT_TRUE((std::is_same_v<Theirs, decltype(&ncclCommInitRank)>));
  using Ours = int (*)(Comm*, int, UniqueId, int);
  EXPECT_TRUE((std::is_same_v<Ours, decltype(Functions::init_rank)>));
}

TEST(NcclHeader, Numbers) {
  EXPECT_EQ(success, ncclSuccess);
  EXPECT_EQ(uint8, ncclUint8);
  EXPECT_EQ(data_type(DataType::i8), ncclInt8);
  EXPECT_EQ(data_type(DataType::u8), ncclUint8);
  EXPECT_EQ(data_type(DataType::i32), ncclInt32);
  EXPECT_EQ(data_type(DataType::u32), ncclUint32);
  EXPECT_EQ(data_type(DataType::i64), ncclInt64);
  EXPECT_EQ(data_type(DataType::u64), ncclUint64);
  EXPECT_EQ(data_type(DataType::f16), ncclFloat16);
  EXPECT_EQ(data_type(DataType::f32), ncclFloat32);
  EXPECT_EQ(data_type(DataType::f64), ncclFloat64);
  EXPECT_EQ(data_type(DataType::bf16), ncclBfloat16);
#if NCCL_VERSION_CODE >= 22400
  EXPECT_EQ(data_type(DataType::e4m3), ncclFloat8e4m3);
  EXPECT_EQ(data_type(DataType::e5m2), ncclFloat8e5m2);
#endif
  EXPECT_EQ(data_type(DataType::tf32), -1);
  EXPECT_EQ(reduction_number(Reduction::sum), ncclSum);
  EXPECT_EQ(reduction_number(Reduction::prod), ncclProd);
  EXPECT_EQ(reduction_number(Reduction::min), ncclMin);
  EXPECT_EQ(reduction_number(Reduction::max), ncclMax);
  EXPECT_EQ(reduction_number(Reduction::avg), ncclAvg);
}

}  // namespace
}  // namespace assay::nccl
#else
TEST(NcclHeader, Prototypes) {
  GTEST_SKIP() << "nccl.h and rccl/rccl.h are not installed";
}
#endif

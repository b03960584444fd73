// Our prototypes and numbers against nccl.h, NVIDIA's or AMD's.
#include <gtest/gtest.h>

#include <cstddef>

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
#if NCCL_VERSION_CODE >= 22800
  ASSAY_EXPECT_MATCH(Functions, all_to_all, ncclAlltoAll)
#elif defined(RCCL_GATHER_SCATTER)
  ASSAY_EXPECT_MATCH(Functions, all_to_all, ncclAllToAll)
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

/// Ours is how theirs begins, and stays so: they only append.
TEST(NcclHeader, TheConfigurationBeginsAlike) {
#if NCCL_VERSION_CODE < 21700
  GTEST_SKIP() << "this header has no bounds on CTAs";
#else
  EXPECT_LE(sizeof(Config), sizeof(ncclConfig_t));
  EXPECT_EQ(offsetof(Config, size), offsetof(ncclConfig_t, size));
  EXPECT_EQ(offsetof(Config, magic), offsetof(ncclConfig_t, magic));
  EXPECT_EQ(offsetof(Config, version), offsetof(ncclConfig_t, version));
  EXPECT_EQ(offsetof(Config, blocking), offsetof(ncclConfig_t, blocking));
  EXPECT_EQ(offsetof(Config, cga_cluster_size), offsetof(ncclConfig_t, cgaClusterSize));
  EXPECT_EQ(offsetof(Config, min_ctas), offsetof(ncclConfig_t, minCTAs));
  EXPECT_EQ(offsetof(Config, max_ctas), offsetof(ncclConfig_t, maxCTAs));
  EXPECT_EQ(offsetof(Config, net_name), offsetof(ncclConfig_t, netName));
  const ncclConfig_t theirs = NCCL_CONFIG_INITIALIZER;
  const Config ours;
  EXPECT_EQ(ours.magic, theirs.magic);
  EXPECT_EQ(Config::undefined, NCCL_CONFIG_UNDEF_INT);
  EXPECT_EQ(static_cast<int>(ours.version), NCCL_VERSION(2, 17, 0));
  EXPECT_EQ(ours.min_ctas, theirs.minCTAs);
  EXPECT_EQ(ours.net_name, theirs.netName);
  EXPECT_EQ(no_colour, NCCL_SPLIT_NOCOLOR);
  EXPECT_EQ(aborted, ncclInvalidUsage);
  using Theirs = ncclResult_t (*)(ncclComm_t*, int, ncclUniqueId, int, ncclConfig_t*);
  EXPECT_TRUE((std::is_same_v<Theirs, decltype(&ncclCommInitRankConfig)>));
  using Ours = int (*)(Comm*, int, UniqueId, int, Config*);
  EXPECT_TRUE((std::is_same_v<Ours, decltype(Functions::init_rank_config)>));
#endif
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

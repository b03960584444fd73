// Our numbers and places of fields against the CUDA toolkit's cupti.h.
#include <gtest/gtest.h>

#include <cstddef>

#include "compute/vendor/tracing/cupti_api.h"

#if __has_include(<cupti.h>)
#include <cupti.h>

namespace assay {
namespace {

TEST(CuptiHeader, PlacesOfFields) {
  EXPECT_EQ(offsetof(CUpti_ActivityKernel9, start), cupti::start_of_activity);
  EXPECT_EQ(offsetof(CUpti_ActivityKernel9, end), cupti::end_of_activity);
  EXPECT_EQ(offsetof(CUpti_ActivityKernel9, streamId), cupti::kernel_record::stream);
  EXPECT_EQ(offsetof(CUpti_ActivityKernel9, gridX), cupti::kernel_record::grid);
  EXPECT_EQ(offsetof(CUpti_ActivityKernel9, blockX), cupti::kernel_record::block);
  EXPECT_EQ(offsetof(CUpti_ActivityKernel9, correlationId), cupti::kernel_record::correlation);
  EXPECT_EQ(offsetof(CUpti_ActivityKernel9, name), cupti::kernel_record::name);
  EXPECT_EQ(offsetof(CUpti_ActivityKernel9, graphNodeId), cupti::kernel_record::node);
  EXPECT_EQ(offsetof(CUpti_ActivityMemcpy5, bytes), cupti::move_record::bytes);
  EXPECT_EQ(offsetof(CUpti_ActivityMemcpy5, start), cupti::start_of_activity);
  EXPECT_EQ(offsetof(CUpti_ActivityMemcpy5, end), cupti::end_of_activity);
  EXPECT_EQ(offsetof(CUpti_ActivityMemcpy5, streamId), cupti::move_record::stream);
  EXPECT_EQ(offsetof(CUpti_ActivityMemcpy5, correlationId), cupti::move_record::correlation);
  EXPECT_EQ(offsetof(CUpti_ActivityMemcpy5, graphNodeId), cupti::move_record::node);
  EXPECT_EQ(offsetof(CUpti_ActivityMemset4, bytes), cupti::move_record::bytes);
  EXPECT_EQ(offsetof(CUpti_ActivityMemset4, start), cupti::start_of_activity);
  EXPECT_EQ(offsetof(CUpti_ActivityMemset4, streamId), cupti::move_record::stream);
  EXPECT_EQ(offsetof(CUpti_ActivityMemset4, correlationId), cupti::move_record::correlation);
  EXPECT_EQ(offsetof(CUpti_ActivityMemset4, graphNodeId), cupti::move_record::node);
  EXPECT_EQ(offsetof(CUpti_ActivityMemset4, end), cupti::end_of_activity);
  EXPECT_EQ(offsetof(CUpti_ActivityMemcpyPtoP4, bytes), cupti::peer_record::bytes);
  EXPECT_EQ(offsetof(CUpti_ActivityMemcpyPtoP4, start), cupti::start_of_activity);
  EXPECT_EQ(offsetof(CUpti_ActivityMemcpyPtoP4, end), cupti::end_of_activity);
  EXPECT_EQ(offsetof(CUpti_ActivityMemcpyPtoP4, streamId), cupti::peer_record::stream);
  EXPECT_EQ(offsetof(CUpti_ActivityMemcpyPtoP4, correlationId), cupti::peer_record::correlation);
  EXPECT_EQ(offsetof(CUpti_ActivityMemcpyPtoP4, graphNodeId), cupti::peer_record::node);
  EXPECT_EQ(offsetof(CUpti_ActivityExternalCorrelation, externalKind),
            cupti::external_record::kind);
  EXPECT_EQ(offsetof(CUpti_ActivityExternalCorrelation, externalId),
            cupti::external_record::number);
  EXPECT_EQ(offsetof(CUpti_ActivityExternalCorrelation, correlationId),
            cupti::external_record::correlation);
  EXPECT_EQ(offsetof(CUpti_ResourceData, resourceDescriptor),
            offsetof(cupti::ResourceData, descriptor));
  EXPECT_EQ(offsetof(CUpti_GraphData, node), offsetof(cupti::GraphData, node));
  EXPECT_EQ(offsetof(CUpti_GraphData, originalNode), offsetof(cupti::GraphData, original_node));
}

TEST(CuptiHeader, Values) {
  EXPECT_EQ(CUPTI_ACTIVITY_KIND_MEMCPY, cupti::kind::copy);
  EXPECT_EQ(CUPTI_ACTIVITY_KIND_MEMSET, cupti::kind::fill);
  EXPECT_EQ(CUPTI_ACTIVITY_KIND_MEMCPY2, cupti::kind::peer_copy);
  EXPECT_EQ(CUPTI_ACTIVITY_KIND_DRIVER, cupti::kind::driver_call);
  EXPECT_EQ(CUPTI_ACTIVITY_KIND_RUNTIME, cupti::kind::runtime_call);
  EXPECT_EQ(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, cupti::kind::kernel);
  EXPECT_EQ(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, cupti::kind::external);
  EXPECT_EQ(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, cupti::external_custom);
  EXPECT_EQ(CUPTI_ERROR_MAX_LIMIT_REACHED, cupti::no_more_records);
  EXPECT_EQ(CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, cupti::multiple_subscribers);
  EXPECT_EQ(CUPTI_CB_DOMAIN_RESOURCE, cupti::resource_domain);
  EXPECT_EQ(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, static_cast<int>(cupti::node_created));
  EXPECT_EQ(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, static_cast<int>(cupti::node_cloned));
}

}  // namespace
}  // namespace assay
#else
TEST(CuptiHeader, PlacesOfFields) {
  GTEST_SKIP() << "no cupti.h (CUDA toolkit) here";
}
#endif

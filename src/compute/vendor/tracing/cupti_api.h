// The few functions and numbers of CUPTI that are needed here, and where the fields of its records
// lie. Records grow at their ends from version to version; these fields have kept their places
// since CUDA 12.0 (cupti_activity.h of 12.0 to 13.0).
#pragma once

#include <cstddef>
#include <cstdint>

namespace assay::cupti {

/// CUpti_BuffersCallbackRequestFunc
using RequestBuffer = void (*)(std::uint8_t** buffer, std::size_t* bytes, std::size_t* most);
/// CUpti_BuffersCallbackCompleteFunc; `valid` bytes of the buffer hold records.
using CompleteBuffer = void (*)(void* context, std::uint32_t stream, std::uint8_t* buffer,
                                std::size_t bytes, std::size_t valid);
/// CUpti_CallbackFunc
using Callback = void (*)(void* user, int domain, std::uint32_t id, const void* data);

#define ASSAY_CUPTI_FUNCTIONS(F)                                                             \
  F(get_version, cuptiGetVersion, (std::uint32_t * version))                                 \
  F(get_timestamp, cuptiGetTimestamp, (std::uint64_t * ns))                                  \
  F(error_text, cuptiGetResultString, (int status, const char** text))                       \
  F(register_buffers, cuptiActivityRegisterCallbacks,                                        \
    (RequestBuffer request, CompleteBuffer complete))                                        \
  F(enable, cuptiActivityEnable, (int kind))                                                 \
  F(disable, cuptiActivityDisable, (int kind))                                               \
  F(flush_all, cuptiActivityFlushAll, (std::uint32_t forced))                                \
  F(next_record, cuptiActivityGetNextRecord,                                                 \
    (std::uint8_t * buffer, std::size_t valid, std::uint8_t * *record))                      \
  F(count_dropped, cuptiActivityGetNumDroppedRecords,                                        \
    (void* context, std::uint32_t stream, std::size_t* count))                               \
  F(push_external, cuptiActivityPushExternalCorrelationId, (int kind, std::uint64_t number)) \
  F(pop_external, cuptiActivityPopExternalCorrelationId, (int kind, std::uint64_t* number))  \
  F(subscribe, cuptiSubscribe, (void** subscriber, Callback callback, void* user))           \
  F(unsubscribe, cuptiUnsubscribe, (void* subscriber))                                       \
  F(enable_callback, cuptiEnableCallback,                                                    \
    (std::uint32_t on, void* subscriber, int domain, std::uint32_t id))                      \
  F(graph_node_id, cuptiGetGraphNodeId, (void* node, std::uint64_t* id))

struct Functions {
#define ASSAY_CUPTI_MEMBER(member, symbol, parameters) int(*member) parameters = nullptr;
  ASSAY_CUPTI_FUNCTIONS(ASSAY_CUPTI_MEMBER)
#undef ASSAY_CUPTI_MEMBER
};

/// CUptiResult. `no_more_records` is CUPTI_ERROR_MAX_LIMIT_REACHED, which
/// cuptiActivityGetNextRecord returns at the end of a buffer.
constexpr int success = 0, no_more_records = 12, multiple_subscribers = 39;

/// CUpti_ActivityKind. `kernel` is CONCURRENT_KERNEL. Calls are enabled because CUPTI writes
/// external records only for calls of enabled kinds.
namespace kind {
constexpr int copy = 1, fill = 2, driver_call = 4, runtime_call = 5, kernel = 10, peer_copy = 22,
              external = 39;
}
/// CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, which is free for tools.
constexpr int external_custom = 3;

/// CUPTI_CB_DOMAIN_RESOURCE, and its callbacks GRAPHNODE_CREATED and GRAPHNODE_CLONED
constexpr int resource_domain = 3;
constexpr std::uint32_t node_created = 13, node_cloned = 20;

/// CUpti_ResourceData
struct ResourceData {
  void* context;
  void* stream;
  const void* descriptor;
};
/// CUpti_GraphData, up to the last field that is needed
struct GraphData {
  void* graph;
  void* original_graph;
  void* node;
  void* original_node;
};

/// Offsets in bytes. Every record begins with its kind, an int. `start` and `end` are
/// std::uint64_t, ns on the clock of cuptiGetTimestamp. `bytes`, `node` (as from
/// cuptiGetGraphNodeId, 0 outside graphs) and `number` are std::uint64_t; `stream` and
/// `correlation` std::uint32_t; `grid` and `block` three std::uint32_t. `name` is a mangled const
/// char*, null if unknown.
constexpr std::size_t start_of_activity = 16, end_of_activity = 24;  // of all but external records
namespace kernel_record {  // CUpti_ActivityKernel7 and later
constexpr std::size_t stream = 48, grid = 52, block = 64, correlation = 92, name = 104, node = 144;
}
namespace peer_record {  // CUpti_ActivityMemcpyPtoP4, a copy between GPUs
constexpr std::size_t bytes = 8, stream = 40, correlation = 60, node = 72;
}
namespace move_record {  // CUpti_ActivityMemcpy5, CUpti_ActivityMemset4 and later
constexpr std::size_t bytes = 8, stream = 40, correlation = 44, node = 64;
}
namespace external_record {  // CUpti_ActivityExternalCorrelation
constexpr std::size_t kind = 4, number = 8, correlation = 16;
}

}  // namespace assay::cupti

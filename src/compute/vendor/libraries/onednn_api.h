// The C interface of oneDNN 2 and 3. The versions differ in who owns a memory descriptor (a struct
// of the caller, or an object of the library), in how an operation is described, and in some
// numbers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/data_type.h"

namespace assay::onednn {

using Engine = void*;
using Stream = void*;
using Memory = void*;
using Primitive = void*;
using PrimitiveDesc = void*;
using Attributes = void*;
using PostOps = void*;
/// Points to the caller's struct (version 2) or the library's object (version 3).
using MemoryDesc = const void*;

constexpr int most_dimensions = 12;
using Dimensions = std::int64_t[most_dimensions];

struct Argument {
  int index;
  Memory memory;
};

struct Version {
  int major, minor, patch;
  const char* hash;
  unsigned cpu_runtime, gpu_runtime;
};

// dnnl_status_t
constexpr int success = 0, out_of_memory = 1, invalid_arguments = 2, unimplemented = 3;
constexpr int engine_cpu = 1;
constexpr unsigned stream_in_order = 1;
constexpr int format_any = 1;
constexpr int query_implementation = 8, query_source = 129, query_source_gradient = 130,
              query_weights = 131, query_weights_gradient = 132, query_destination = 133,
              query_destination_gradient = 134, query_scratchpad = 136;
constexpr int scratchpad_user = 1;     // dnnl_scratchpad_mode_t
constexpr int forward_training = 64;   // dnnl_prop_kind_t
constexpr int convolution_direct = 1;  // dnnl_alg_kind_t
constexpr int argument_source_gradient = 129, argument_destination_gradient = 145,
              argument_weights_gradient = 161, argument_scratchpad = 80;
constexpr int argument_source = 1, argument_source_1 = 2, argument_destination = 17;
constexpr int argument_weights = 33, argument_bias = 41, argument_post_op = 16384;
constexpr int binary_add = 0x1fff0;
/// dnnl_alg_kind_t changed in version 3.
struct Eltwise {
  int relu, linear, gelu_tanh;
};
constexpr Eltwise eltwise_v2 = {0x1f, 0x7f, 0xcf};
constexpr Eltwise eltwise_v3 = {0x20, 0x26, 0x2b};
// Sizes of version 2's structs, with a margin (2.6: 696, 2800 and 6000 bytes).
constexpr std::size_t memory_desc_bytes_v2 = 1024, matmul_desc_bytes_v2 = 4096,
                      convolution_desc_bytes_v2 = 8192;

/// Returns the dnnl_data_type_t; -1 for types that the CPU engine does not multiply.
constexpr int data_type(DataType type) {
  switch (type) {
    case DataType::f16:
      return 1;
    case DataType::bf16:
      return 2;
    case DataType::f32:
      return 3;
    case DataType::i32:
      return 4;
    case DataType::i8:
      return 5;
    default:
      return -1;
  }
}

// F(member, symbol, parameters); all functions return a dnnl_status_t.
#define ASSAY_ONEDNN_FUNCTIONS(F)                                                               \
  F(engine_create, dnnl_engine_create, (Engine*, int kind, std::size_t index))                  \
  F(engine_destroy, dnnl_engine_destroy, (Engine))                                              \
  F(stream_create, dnnl_stream_create, (Stream*, Engine, unsigned flags))                       \
  F(stream_wait, dnnl_stream_wait, (Stream))                                                    \
  F(stream_destroy, dnnl_stream_destroy, (Stream))                                              \
  F(memory_create, dnnl_memory_create, (Memory*, MemoryDesc, Engine, void* data))               \
  F(memory_set_data, dnnl_memory_set_data_handle, (Memory, void* data))                         \
  F(memory_destroy, dnnl_memory_destroy, (Memory))                                              \
  F(attributes_create, dnnl_primitive_attr_create, (Attributes*))                               \
  F(attributes_destroy, dnnl_primitive_attr_destroy, (Attributes))                              \
  F(attributes_set_post_ops, dnnl_primitive_attr_set_post_ops, (Attributes, const void* ops))   \
  F(attributes_set_scratchpad, dnnl_primitive_attr_set_scratchpad_mode, (Attributes, int mode)) \
  F(post_ops_create, dnnl_post_ops_create, (PostOps*))                                          \
  F(post_ops_destroy, dnnl_post_ops_destroy, (PostOps))                                         \
  F(post_ops_binary, dnnl_post_ops_append_binary, (PostOps, int kind, MemoryDesc))              \
  F(primitive_create, dnnl_primitive_create, (Primitive*, const void* desc))                    \
  F(primitive_execute, dnnl_primitive_execute,                                                  \
    (const void* primitive, Stream, int count, const Argument*))                                \
  F(primitive_destroy, dnnl_primitive_destroy, (Primitive))                                     \
  F(primitive_desc_destroy, dnnl_primitive_desc_destroy, (PrimitiveDesc))                       \
  F(primitive_desc_query, dnnl_primitive_desc_query,                                            \
    (const void* desc, int what, int index, void* result))                                      \
  F(reorder_desc_create, dnnl_reorder_primitive_desc_create,                                    \
    (PrimitiveDesc*, MemoryDesc from, Engine, MemoryDesc to, Engine, const void* attributes))

#define ASSAY_ONEDNN_V2_FUNCTIONS(F)                                                           \
  F(desc_by_strides, dnnl_memory_desc_init_by_strides,                                         \
    (void* desc, int count, const std::int64_t*, int type, const std::int64_t* strides))       \
  F(desc_by_tag, dnnl_memory_desc_init_by_tag,                                                 \
    (void* desc, int count, const std::int64_t*, int type, int tag))                           \
  F(matmul_desc_init, dnnl_matmul_desc_init,                                                   \
    (void* matmul, MemoryDesc a, MemoryDesc b, MemoryDesc bias, MemoryDesc d))                 \
  F(convolution_forward_init, dnnl_dilated_convolution_forward_desc_init,                      \
    (void* convolution, int pass, int way, MemoryDesc x, MemoryDesc w, MemoryDesc bias,        \
     MemoryDesc y, const std::int64_t* strides, const std::int64_t* dilations,                 \
     const std::int64_t* pads, const std::int64_t* pads_behind))                               \
  F(convolution_backward_data_init, dnnl_dilated_convolution_backward_data_desc_init,          \
    (void* convolution, int way, MemoryDesc x, MemoryDesc w, MemoryDesc y,                     \
     const std::int64_t* strides, const std::int64_t* dilations, const std::int64_t* pads,     \
     const std::int64_t* pads_behind))                                                         \
  F(convolution_backward_weights_init, dnnl_dilated_convolution_backward_weights_desc_init,    \
    (void* convolution, int way, MemoryDesc x, MemoryDesc w, MemoryDesc bias, MemoryDesc y,    \
     const std::int64_t* strides, const std::int64_t* dilations, const std::int64_t* pads,     \
     const std::int64_t* pads_behind))                                                         \
  F(primitive_desc_create, dnnl_primitive_desc_create,                                         \
    (PrimitiveDesc*, const void* operation, const void* attributes, Engine, const void* hint)) \
  F(post_ops_sum, dnnl_post_ops_append_sum, (PostOps, float scale))                            \
  F(post_ops_eltwise, dnnl_post_ops_append_eltwise,                                            \
    (PostOps, float scale, int kind, float alpha, float beta))

#define ASSAY_ONEDNN_V3_FUNCTIONS(F)                                                              \
  F(desc_by_strides, dnnl_memory_desc_create_with_strides,                                        \
    (void** desc, int count, const std::int64_t*, int type, const std::int64_t* strides))         \
  F(desc_by_tag, dnnl_memory_desc_create_with_tag,                                                \
    (void** desc, int count, const std::int64_t*, int type, int tag))                             \
  F(desc_destroy, dnnl_memory_desc_destroy, (void* desc))                                         \
  F(matmul_desc_create, dnnl_matmul_primitive_desc_create,                                        \
    (PrimitiveDesc*, Engine, MemoryDesc a, MemoryDesc b, MemoryDesc bias, MemoryDesc d,           \
     const void* attributes))                                                                     \
  F(convolution_forward_create, dnnl_convolution_forward_primitive_desc_create,                   \
    (PrimitiveDesc*, Engine, int pass, int way, MemoryDesc x, MemoryDesc w, MemoryDesc bias,      \
     MemoryDesc y, const std::int64_t* strides, const std::int64_t* dilations,                    \
     const std::int64_t* pads, const std::int64_t* pads_behind, const void* attributes))          \
  F(convolution_backward_data_create, dnnl_convolution_backward_data_primitive_desc_create,       \
    (PrimitiveDesc*, Engine, int way, MemoryDesc x, MemoryDesc w, MemoryDesc y,                   \
     const std::int64_t* strides, const std::int64_t* dilations, const std::int64_t* pads,        \
     const std::int64_t* pads_behind, const void* hint, const void* attributes))                  \
  F(convolution_backward_weights_create, dnnl_convolution_backward_weights_primitive_desc_create, \
    (PrimitiveDesc*, Engine, int way, MemoryDesc x, MemoryDesc w, MemoryDesc bias, MemoryDesc y,  \
     const std::int64_t* strides, const std::int64_t* dilations, const std::int64_t* pads,        \
     const std::int64_t* pads_behind, const void* hint, const void* attributes))                  \
  F(post_ops_sum, dnnl_post_ops_append_sum,                                                       \
    (PostOps, float scale, std::int32_t zero_point, int type))                                    \
  F(post_ops_eltwise, dnnl_post_ops_append_eltwise, (PostOps, int kind, float alpha, float beta))

#define ASSAY_ONEDNN_MEMBER(member, symbol, parameters) int(*member) parameters = nullptr;
struct Functions {
  ASSAY_ONEDNN_FUNCTIONS(ASSAY_ONEDNN_MEMBER)
  // These functions do not return a status.
  int (*descs_equal)(MemoryDesc, MemoryDesc) = nullptr;  // 1 if they are equal
  MemoryDesc (*primitive_desc_md)(const void* desc, int what, int index) = nullptr;
  std::size_t (*desc_bytes)(MemoryDesc) = nullptr;
  const Version* (*version)() = nullptr;
};
struct FunctionsV2 {
  ASSAY_ONEDNN_V2_FUNCTIONS(ASSAY_ONEDNN_MEMBER)
};
struct FunctionsV3 {
  ASSAY_ONEDNN_V3_FUNCTIONS(ASSAY_ONEDNN_MEMBER)
};
#undef ASSAY_ONEDNN_MEMBER

}  // namespace assay::onednn

// The few functions and numbers of cuDNN 9's graph interface that are needed here: a graph is made
// of descriptors, each of them created, given attributes by number, and finalized.
#pragma once

#include <cstddef>
#include <cstdint>

namespace assay::cudnn {

// F(member, symbol, parameters); all functions return a status, 0 being success.
#define ASSAY_CUDNN_FUNCTIONS(F)                                                                  \
  F(create, cudnnCreate, (void** handle))                                                         \
  F(destroy, cudnnDestroy, (void* handle))                                                        \
  F(set_stream, cudnnSetStream, (void* handle, void* stream))                                     \
  F(create_descriptor, cudnnBackendCreateDescriptor, (int type, void** descriptor))               \
  F(destroy_descriptor, cudnnBackendDestroyDescriptor, (void* descriptor))                        \
  F(set_attribute, cudnnBackendSetAttribute,                                                      \
    (void* descriptor, int name, int type, std::int64_t count, const void* values))               \
  F(get_attribute, cudnnBackendGetAttribute,                                                      \
    (void* descriptor, int name, int type, std::int64_t room, std::int64_t* count, void* values)) \
  F(finalize, cudnnBackendFinalize, (void* descriptor))                                           \
  F(execute, cudnnBackendExecute, (void* handle, void* plan, void* pack))

struct Functions {
#define ASSAY_CUDNN_MEMBER(member, symbol, parameters) int(*member) parameters = nullptr;
  ASSAY_CUDNN_FUNCTIONS(ASSAY_CUDNN_MEMBER)
#undef ASSAY_CUDNN_MEMBER
  std::size_t (*get_version)() = nullptr;
  const char* (*get_error_string)(int status) = nullptr;
  void (*get_last_error)(char* message, std::size_t bytes) = nullptr;
};

/// cudnnBackendDescriptorType_t
namespace descriptor {
constexpr int pointwise = 0, convolution = 1, engine = 2, engine_config = 3, heuristics = 4,
              plan = 5, knob_choice = 7, convolution_forward = 10, convolution_weights = 11,
              convolution_data = 12, pointwise_operation = 13, graph = 15, pack = 16, tensor = 17,
              matmul = 18, matmul_operation = 19, reduction = 21, reduction_operation = 22,
              reshape_operation = 31;
}

/// cudnnBackendAttributeName_t
namespace attribute {
constexpr int pointwise_mode = 0, pointwise_precision = 1, pointwise_axis = 9;
constexpr int convolution_precision = 100, convolution_mode = 101, convolution_dilations = 102,
              convolution_strides = 103, convolution_post_paddings = 104,
              convolution_pre_paddings = 105, convolution_dimensions = 106;
constexpr int heuristics_mode = 200, heuristics_graph = 201, heuristics_results = 202;
constexpr int config_engine = 300, config_knobs = 302;
constexpr int plan_handle = 400, plan_config = 401, plan_workspace = 402;
constexpr int knob_type = 600, knob_value = 601;
/// Attributes of the operation of one direction.
struct ConvolutionOperation {
  int alpha, beta, descriptor, x, w, y;
};
constexpr ConvolutionOperation convolution_forward = {700, 701, 702, 704, 703, 705};
constexpr ConvolutionOperation convolution_data = {706, 707, 708, 710, 709, 711};
constexpr ConvolutionOperation convolution_weights = {712, 713, 714, 716, 715, 717};
constexpr int pointwise_descriptor = 750, pointwise_x = 751, pointwise_b = 752, pointwise_y = 753,
              pointwise_t = 758;
constexpr int graph_handle = 800, graph_operations = 801;
constexpr int tensor_alignment = 900, tensor_type = 901, tensor_dimensions = 902,
              tensor_strides = 903, tensor_id = 906, tensor_virtual = 907, tensor_by_value = 908,
              tensor_ragged = 913;
constexpr int pack_ids = 1000, pack_pointers = 1001, pack_workspace = 1003;
constexpr int engine_index = 1301, engine_notes = 1303;
constexpr int matmul_precision = 1500, matmul_padding = 1503;
constexpr int matmul_a = 1520, matmul_b = 1521, matmul_c = 1522, matmul_descriptor = 1523,
              matmul_rows = 1525, matmul_columns = 1526, matmul_depth = 1527;
constexpr int reduction_mode = 1600, reduction_precision = 1601;
constexpr int reduction_x = 1610, reduction_y = 1611, reduction_descriptor = 1612;
constexpr int reshape_x = 2200, reshape_y = 2201;
}  // namespace attribute

/// cudnnBackendAttributeType_t
namespace type {
constexpr int handle = 0, data_type = 1, boolean = 2, int64 = 3, f32 = 4, f64 = 5, pointer = 6,
              convolution_mode = 7, heuristics_mode = 8, knob_type = 9, numerical_note = 11,
              pointwise_mode = 14, descriptor = 15, reduction_mode = 18;
}

/// cudnnDataType_t
namespace data {
constexpr int f32 = 0, f16 = 2, i32 = 4, bf16 = 9, boolean = 11;
}

/// cudnnPointwiseMode_t
namespace mode {
constexpr int add = 0, mul = 1, div = 6, sub = 9, exp = 13, log = 15, identity = 21,
              greater_or_equal = 303, less = 304, logical_and = 400, index = 501, select = 601;
}

/// cudnnReduceTensorOp_t
namespace reduce {
constexpr int add = 0, max = 3;
}

/// cudnnBackendHeurMode_t
namespace heuristics {
constexpr int b = 1, fallback = 2, a = 3;
}

/// cudnnBackendNumericalNote_t
namespace note {
constexpr int tensor_core = 0, down_converts = 1, reduces_narrowly = 2, fft = 3,
              nondeterministic = 4, winograd = 5, strict_nan = 9;
}

/// cudnnConvolutionMode_t: what neural networks call a convolution.
constexpr int cross_correlation = 1;
/// Statuses in the thousand with this number (3000 to 3999) mean that something is not supported.
constexpr int status_unsupported = 3;
constexpr int no_host_memory = 4003, no_device_memory = 4004;

}  // namespace assay::cudnn

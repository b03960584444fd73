// Our prototypes and numbers against cudnn.h.
#include <gtest/gtest.h>

#include "abi/abi_match.h"
#include "compute/vendor/libraries/cudnn_api.h"

#if __has_include(<cudnn.h>)
#include <cudnn.h>
#endif

#if defined(CUDNN_MAJOR) && CUDNN_MAJOR >= 9
namespace assay::cudnn {
namespace {

#define MATCH(member, symbol, parameters) ASSAY_EXPECT_MATCH(Functions, member, symbol)
TEST(CudnnHeader, Prototypes){
    ASSAY_CUDNN_FUNCTIONS(MATCH) ASSAY_EXPECT_MATCH(Functions, get_version, cudnnGetVersion)
        ASSAY_EXPECT_MATCH(Functions, get_error_string, cudnnGetErrorString)
            ASSAY_EXPECT_MATCH(Functions, get_last_error, cudnnGetLastErrorString)}

TEST(CudnnHeader, Descriptors) {
  EXPECT_EQ(descriptor::pointwise, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  EXPECT_EQ(descriptor::engine, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  EXPECT_EQ(descriptor::engine_config, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  EXPECT_EQ(descriptor::heuristics, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  EXPECT_EQ(descriptor::plan, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  EXPECT_EQ(descriptor::pointwise_operation, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  EXPECT_EQ(descriptor::graph, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  EXPECT_EQ(descriptor::pack, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  EXPECT_EQ(descriptor::tensor, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  EXPECT_EQ(descriptor::matmul, CUDNN_BACKEND_MATMUL_DESCRIPTOR);
  EXPECT_EQ(descriptor::matmul_operation, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
  EXPECT_EQ(descriptor::reduction, CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
  EXPECT_EQ(descriptor::reduction_operation, CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
  EXPECT_EQ(descriptor::reshape_operation, CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
}

TEST(CudnnHeader, Attributes) {
  EXPECT_EQ(attribute::pointwise_mode, CUDNN_ATTR_POINTWISE_MODE);
  EXPECT_EQ(attribute::pointwise_precision, CUDNN_ATTR_POINTWISE_MATH_PREC);
  EXPECT_EQ(attribute::pointwise_axis, CUDNN_ATTR_POINTWISE_AXIS);
  EXPECT_EQ(attribute::heuristics_mode, CUDNN_ATTR_ENGINEHEUR_MODE);
  EXPECT_EQ(attribute::heuristics_graph, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
  EXPECT_EQ(attribute::heuristics_results, CUDNN_ATTR_ENGINEHEUR_RESULTS);
  EXPECT_EQ(attribute::config_engine, CUDNN_ATTR_ENGINECFG_ENGINE);
  EXPECT_EQ(attribute::plan_config, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
  EXPECT_EQ(attribute::plan_workspace, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
  EXPECT_EQ(attribute::pointwise_descriptor, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
  EXPECT_EQ(attribute::pointwise_x, CUDNN_ATTR_OPERATION_POINTWISE_XDESC);
  EXPECT_EQ(attribute::pointwise_b, CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
  EXPECT_EQ(attribute::pointwise_y, CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
  EXPECT_EQ(attribute::pointwise_t, CUDNN_ATTR_OPERATION_POINTWISE_TDESC);
  EXPECT_EQ(attribute::graph_operations, CUDNN_ATTR_OPERATIONGRAPH_OPS);
  EXPECT_EQ(attribute::tensor_alignment, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
  EXPECT_EQ(attribute::tensor_type, CUDNN_ATTR_TENSOR_DATA_TYPE);
  EXPECT_EQ(attribute::tensor_dimensions, CUDNN_ATTR_TENSOR_DIMENSIONS);
  EXPECT_EQ(attribute::tensor_strides, CUDNN_ATTR_TENSOR_STRIDES);
  EXPECT_EQ(attribute::tensor_id, CUDNN_ATTR_TENSOR_UNIQUE_ID);
  EXPECT_EQ(attribute::tensor_virtual, CUDNN_ATTR_TENSOR_IS_VIRTUAL);
  EXPECT_EQ(attribute::tensor_by_value, CUDNN_ATTR_TENSOR_IS_BY_VALUE);
  EXPECT_EQ(attribute::tensor_ragged, CUDNN_ATTR_TENSOR_RAGGED_OFFSET_DESC);
  EXPECT_EQ(attribute::pack_ids, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  EXPECT_EQ(attribute::pack_pointers, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  EXPECT_EQ(attribute::pack_workspace, CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
  EXPECT_EQ(attribute::convolution_precision, CUDNN_ATTR_CONVOLUTION_COMP_TYPE);
  EXPECT_EQ(attribute::convolution_mode, CUDNN_ATTR_CONVOLUTION_CONV_MODE);
  EXPECT_EQ(attribute::convolution_dilations, CUDNN_ATTR_CONVOLUTION_DILATIONS);
  EXPECT_EQ(attribute::convolution_strides, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES);
  EXPECT_EQ(attribute::convolution_pre_paddings, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS);
  EXPECT_EQ(attribute::convolution_post_paddings, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS);
  EXPECT_EQ(attribute::convolution_dimensions, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS);
  EXPECT_EQ(attribute::config_knobs, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES);
  EXPECT_EQ(attribute::knob_type, CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE);
  EXPECT_EQ(attribute::knob_value, CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE);
  EXPECT_EQ(attribute::engine_index, CUDNN_ATTR_ENGINE_GLOBAL_INDEX);
  EXPECT_EQ(attribute::engine_notes, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE);
  EXPECT_EQ(attribute::matmul_precision, CUDNN_ATTR_MATMUL_COMP_TYPE);
  EXPECT_EQ(attribute::matmul_padding, CUDNN_ATTR_MATMUL_PADDING_VALUE);
  EXPECT_EQ(attribute::matmul_rows, CUDNN_ATTR_OPERATION_MATMUL_GEMM_M_OVERRIDE_DESC);
  EXPECT_EQ(attribute::matmul_columns, CUDNN_ATTR_OPERATION_MATMUL_GEMM_N_OVERRIDE_DESC);
  EXPECT_EQ(attribute::matmul_depth, CUDNN_ATTR_OPERATION_MATMUL_GEMM_K_OVERRIDE_DESC);
  EXPECT_EQ(attribute::matmul_a, CUDNN_ATTR_OPERATION_MATMUL_ADESC);
  EXPECT_EQ(attribute::matmul_b, CUDNN_ATTR_OPERATION_MATMUL_BDESC);
  EXPECT_EQ(attribute::matmul_c, CUDNN_ATTR_OPERATION_MATMUL_CDESC);
  EXPECT_EQ(attribute::matmul_descriptor, CUDNN_ATTR_OPERATION_MATMUL_DESC);
  EXPECT_EQ(attribute::reduction_mode, CUDNN_ATTR_REDUCTION_OPERATOR);
  EXPECT_EQ(attribute::reduction_precision, CUDNN_ATTR_REDUCTION_COMP_TYPE);
  EXPECT_EQ(attribute::reduction_x, CUDNN_ATTR_OPERATION_REDUCTION_XDESC);
  EXPECT_EQ(attribute::reduction_y, CUDNN_ATTR_OPERATION_REDUCTION_YDESC);
  EXPECT_EQ(attribute::reduction_descriptor, CUDNN_ATTR_OPERATION_REDUCTION_DESC);
  EXPECT_EQ(attribute::reshape_x, CUDNN_ATTR_OPERATION_RESHAPE_XDESC);
  EXPECT_EQ(attribute::reshape_y, CUDNN_ATTR_OPERATION_RESHAPE_YDESC);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored \
    "-Wdeprecated-declarations"  // newer ones also take device properties
  EXPECT_EQ(attribute::plan_handle, CUDNN_ATTR_EXECUTION_PLAN_HANDLE);
  EXPECT_EQ(attribute::graph_handle, CUDNN_ATTR_OPERATIONGRAPH_HANDLE);
#pragma GCC diagnostic pop
}

TEST(CudnnHeader, Convolutions) {
  EXPECT_EQ(descriptor::convolution, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  EXPECT_EQ(descriptor::knob_choice, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
  EXPECT_EQ(descriptor::convolution_forward,
            CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
  EXPECT_EQ(descriptor::convolution_data,
            CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR);
  EXPECT_EQ(descriptor::convolution_weights,
            CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR);
  const attribute::ConvolutionOperation& forward = attribute::convolution_forward;
  EXPECT_EQ(forward.alpha, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA);
  EXPECT_EQ(forward.beta, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA);
  EXPECT_EQ(forward.descriptor, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC);
  EXPECT_EQ(forward.x, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X);
  EXPECT_EQ(forward.w, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W);
  EXPECT_EQ(forward.y, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y);
  const attribute::ConvolutionOperation& of_data = attribute::convolution_data;
  EXPECT_EQ(of_data.alpha, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA);
  EXPECT_EQ(of_data.beta, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA);
  EXPECT_EQ(of_data.descriptor, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC);
  EXPECT_EQ(of_data.x, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX);
  EXPECT_EQ(of_data.w, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W);
  EXPECT_EQ(of_data.y, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY);
  const attribute::ConvolutionOperation& of_weights = attribute::convolution_weights;
  EXPECT_EQ(of_weights.alpha, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA);
  EXPECT_EQ(of_weights.beta, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA);
  EXPECT_EQ(of_weights.descriptor, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC);
  EXPECT_EQ(of_weights.x, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X);
  EXPECT_EQ(of_weights.w, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW);
  EXPECT_EQ(of_weights.y, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY);
}

TEST(CudnnHeader, TypesAndModes) {
  EXPECT_EQ(type::handle, CUDNN_TYPE_HANDLE);
  EXPECT_EQ(type::data_type, CUDNN_TYPE_DATA_TYPE);
  EXPECT_EQ(type::boolean, CUDNN_TYPE_BOOLEAN);
  EXPECT_EQ(type::int64, CUDNN_TYPE_INT64);
  EXPECT_EQ(type::pointer, CUDNN_TYPE_VOID_PTR);
  EXPECT_EQ(type::heuristics_mode, CUDNN_TYPE_HEUR_MODE);
  EXPECT_EQ(type::numerical_note, CUDNN_TYPE_NUMERICAL_NOTE);
  EXPECT_EQ(type::pointwise_mode, CUDNN_TYPE_POINTWISE_MODE);
  EXPECT_EQ(type::descriptor, CUDNN_TYPE_BACKEND_DESCRIPTOR);
  EXPECT_EQ(type::reduction_mode, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE);
  EXPECT_EQ(data::f32, CUDNN_DATA_FLOAT);
  EXPECT_EQ(data::f16, CUDNN_DATA_HALF);
  EXPECT_EQ(data::i32, CUDNN_DATA_INT32);
  EXPECT_EQ(data::bf16, CUDNN_DATA_BFLOAT16);
  EXPECT_EQ(data::boolean, CUDNN_DATA_BOOLEAN);
  EXPECT_EQ(mode::add, CUDNN_POINTWISE_ADD);
  EXPECT_EQ(mode::mul, CUDNN_POINTWISE_MUL);
  EXPECT_EQ(mode::div, CUDNN_POINTWISE_DIV);
  EXPECT_EQ(mode::sub, CUDNN_POINTWISE_SUB);
  EXPECT_EQ(mode::exp, CUDNN_POINTWISE_EXP);
  EXPECT_EQ(mode::log, CUDNN_POINTWISE_LOG);
  EXPECT_EQ(mode::identity, CUDNN_POINTWISE_IDENTITY);
  EXPECT_EQ(mode::greater_or_equal, CUDNN_POINTWISE_CMP_GE);
  EXPECT_EQ(mode::less, CUDNN_POINTWISE_CMP_LT);
  EXPECT_EQ(mode::logical_and, CUDNN_POINTWISE_LOGICAL_AND);
  EXPECT_EQ(mode::index, CUDNN_POINTWISE_GEN_INDEX);
  EXPECT_EQ(mode::select, CUDNN_POINTWISE_BINARY_SELECT);
  EXPECT_EQ(reduce::add, CUDNN_REDUCE_TENSOR_ADD);
  EXPECT_EQ(reduce::max, CUDNN_REDUCE_TENSOR_MAX);
  EXPECT_EQ(heuristics::a, CUDNN_HEUR_MODE_A);
  EXPECT_EQ(heuristics::fallback, CUDNN_HEUR_MODE_FALLBACK);
  EXPECT_EQ(heuristics::b, CUDNN_HEUR_MODE_B);
  EXPECT_EQ(note::tensor_core, CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
  EXPECT_EQ(note::down_converts, CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS);
  EXPECT_EQ(note::reduces_narrowly, CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION);
  EXPECT_EQ(note::fft, CUDNN_NUMERICAL_NOTE_FFT);
  EXPECT_EQ(note::nondeterministic, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC);
  EXPECT_EQ(note::winograd, CUDNN_NUMERICAL_NOTE_WINOGRAD);
  EXPECT_EQ(note::strict_nan, CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP);
  EXPECT_EQ(cross_correlation, CUDNN_CROSS_CORRELATION);
  EXPECT_EQ(type::f32, CUDNN_TYPE_FLOAT);
  EXPECT_EQ(type::f64, CUDNN_TYPE_DOUBLE);
  EXPECT_EQ(type::convolution_mode, CUDNN_TYPE_CONVOLUTION_MODE);
  EXPECT_EQ(type::knob_type, CUDNN_TYPE_KNOB_TYPE);
  EXPECT_EQ(no_host_memory, CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED);
  EXPECT_EQ(no_device_memory, CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED);
  EXPECT_EQ(status_unsupported, CUDNN_STATUS_NOT_SUPPORTED / 1000);
  EXPECT_EQ(status_unsupported, CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN / 1000);
  EXPECT_EQ(0, CUDNN_STATUS_SUCCESS);
}

}  // namespace
}  // namespace assay::cudnn
#else
TEST(CudnnHeader, Prototypes) {
  GTEST_SKIP() << "cudnn.h of cuDNN 9 is not installed";
}
#endif

// Our prototypes and numbers against cublasLt.h, cublas_v2.h and oneDNN's dnnl.h.
#include <gtest/gtest.h>

#include "abi/abi_match.h"
#include "compute/vendor/blas/cublas_api.h"
#include "compute/vendor/blas/cublaslt_variations.h"
#include "compute/vendor/blas/lt_dialects.h"
#include "compute/vendor/libraries/onednn_api.h"

#if __has_include(<cublasLt.h>) && __has_include(<cublas_v2.h>)
#include <cublasLt.h>
#include <cublas_v2.h>

namespace assay::lt {
namespace {

#define LT(member, symbol, parameters) ASSAY_EXPECT_MATCH(Functions, member, cublasLt##symbol)
TEST(CublasLtHeader, Prototypes){ASSAY_LT_FUNCTIONS(LT)}

TEST(CublasLtHeader, FunctionsOfAlgorithms){
    ASSAY_EXPECT_MATCH(AlgorithmFunctions, get_config, cublasLtMatmulAlgoConfigGetAttribute)
        ASSAY_EXPECT_MATCH(AlgorithmFunctions, set_config, cublasLtMatmulAlgoConfigSetAttribute)
            ASSAY_EXPECT_MATCH(AlgorithmFunctions, get_capability,
                               cublasLtMatmulAlgoCapGetAttribute)
                ASSAY_EXPECT_MATCH(AlgorithmFunctions, check, cublasLtMatmulAlgoCheck)
                    ASSAY_EXPECT_MATCH(AlgorithmFunctions, get_ids, cublasLtMatmulAlgoGetIds)
                        ASSAY_EXPECT_MATCH(AlgorithmFunctions, init, cublasLtMatmulAlgoInit)}

TEST(CublasLtHeader, Numbers) {
  const Dialect& d = cublaslt_dialect;
  EXPECT_EQ(d.operation_none, CUBLAS_OP_N);
  EXPECT_EQ(d.operation_transpose, CUBLAS_OP_T);
  EXPECT_EQ(d.compute_f32, CUBLAS_COMPUTE_32F);
  EXPECT_EQ(d.compute_tf32, CUBLAS_COMPUTE_32F_FAST_TF32);
  EXPECT_EQ(d.compute_f64, CUBLAS_COMPUTE_64F);
  EXPECT_EQ(d.compute_i32, CUBLAS_COMPUTE_32I);
  EXPECT_EQ(d.layout_batch_count, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
  EXPECT_EQ(d.layout_batch_stride, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
  EXPECT_EQ(d.desc_transpose_a, CUBLASLT_MATMUL_DESC_TRANSA);
  EXPECT_EQ(d.desc_transpose_b, CUBLASLT_MATMUL_DESC_TRANSB);
  EXPECT_EQ(d.desc_epilogue, CUBLASLT_MATMUL_DESC_EPILOGUE);
  EXPECT_EQ(d.desc_bias_pointer, CUBLASLT_MATMUL_DESC_BIAS_POINTER);
  EXPECT_EQ(d.desc_bias_type, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE);
  EXPECT_EQ(d.desc_scale_a, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER);
  EXPECT_EQ(d.desc_scale_b, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER);
  EXPECT_EQ(d.desc_scale_d, CUBLASLT_MATMUL_DESC_D_SCALE_POINTER);
  EXPECT_EQ(d.desc_amax_d, CUBLASLT_MATMUL_DESC_AMAX_D_POINTER);
#if CUBLAS_VERSION >= 120900
  EXPECT_EQ(d.desc_scale_mode_a, CUBLASLT_MATMUL_DESC_A_SCALE_MODE);
  EXPECT_EQ(d.desc_scale_mode_b, CUBLASLT_MATMUL_DESC_B_SCALE_MODE);
  EXPECT_EQ(scale_of_lines, CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F);
#endif
  EXPECT_EQ(d.desc_multiprocessors, CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET);
  EXPECT_EQ(d.desc_aux_pointer, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER);
  EXPECT_EQ(d.desc_aux_ld, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD);
  EXPECT_EQ(d.desc_aux_type, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE);
  EXPECT_EQ(d.desc_fast_accumulate, CUBLASLT_MATMUL_DESC_FAST_ACCUM);
  EXPECT_EQ(d.preference_workspace, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
  EXPECT_EQ(d.preference_reduction_mask, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK);
  EXPECT_EQ(d.preference_alignment_a, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
  EXPECT_EQ(d.preference_alignment_a + 1, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES);
  EXPECT_EQ(d.preference_alignment_a + 2, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES);
  EXPECT_EQ(d.preference_alignment_a + 3, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
  EXPECT_EQ(3, CUBLASLT_REDUCTION_SCHEME_INPLACE | CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
  EXPECT_EQ(kind_of_status(d, CUBLAS_STATUS_NOT_SUPPORTED), ErrorKind::unsupported);
  EXPECT_EQ(kind_of_status(d, CUBLAS_STATUS_ALLOC_FAILED), ErrorKind::exhausted);
  EXPECT_EQ(kind_of_status(d, CUBLAS_STATUS_EXECUTION_FAILED), ErrorKind::failed);
  EXPECT_EQ(d.status_name(CUBLAS_STATUS_NOT_INITIALIZED), "NOT_INITIALIZED");
  EXPECT_EQ(d.status_name(CUBLAS_STATUS_ALLOC_FAILED), "ALLOC_FAILED");
  EXPECT_EQ(d.status_name(CUBLAS_STATUS_INVALID_VALUE), "INVALID_VALUE");
  EXPECT_EQ(d.status_name(CUBLAS_STATUS_ARCH_MISMATCH), "ARCH_MISMATCH");
  EXPECT_EQ(d.status_name(CUBLAS_STATUS_MAPPING_ERROR), "MAPPING_ERROR");
  EXPECT_EQ(d.status_name(CUBLAS_STATUS_EXECUTION_FAILED), "EXECUTION_FAILED");
  EXPECT_EQ(d.status_name(CUBLAS_STATUS_INTERNAL_ERROR), "INTERNAL_ERROR");
}

TEST(CublasLtHeader, DataTypesAndEpilogues) {
  EXPECT_EQ(data_type(DataType::f64), CUDA_R_64F);
  EXPECT_EQ(data_type(DataType::f32), CUDA_R_32F);
  EXPECT_EQ(data_type(DataType::tf32), CUDA_R_32F);
  EXPECT_EQ(data_type(DataType::f16), CUDA_R_16F);
  EXPECT_EQ(data_type(DataType::bf16), CUDA_R_16BF);
  EXPECT_EQ(data_type(DataType::e4m3), CUDA_R_8F_E4M3);
  EXPECT_EQ(data_type(DataType::e5m2), CUDA_R_8F_E5M2);
  EXPECT_EQ(data_type(DataType::i8), CUDA_R_8I);
  EXPECT_EQ(data_type(DataType::i32), CUDA_R_32I);
  const auto is = [](Epilogue ours, cublasLtEpilogue_t theirs) {
    EXPECT_EQ(epilogue_number(ours), static_cast<std::uint32_t>(theirs)) << name_of(ours);
  };
  is(Epilogue::none, CUBLASLT_EPILOGUE_DEFAULT);
  is(Epilogue::bias, CUBLASLT_EPILOGUE_BIAS);
  is(Epilogue::relu, CUBLASLT_EPILOGUE_RELU);
  is(Epilogue::relu_bias, CUBLASLT_EPILOGUE_RELU_BIAS);
  is(Epilogue::gelu, CUBLASLT_EPILOGUE_GELU);
  is(Epilogue::gelu_bias, CUBLASLT_EPILOGUE_GELU_BIAS);
  is(Epilogue::gelu_aux, CUBLASLT_EPILOGUE_GELU_AUX);
  is(Epilogue::gelu_aux_bias, CUBLASLT_EPILOGUE_GELU_AUX_BIAS);
  is(Epilogue::dgelu, CUBLASLT_EPILOGUE_DGELU);
  is(Epilogue::dgelu_bgrad, CUBLASLT_EPILOGUE_DGELU_BGRAD);
  is(Epilogue::bgrad_a, CUBLASLT_EPILOGUE_BGRADB);  // operands are swapped
  is(Epilogue::bgrad_b, CUBLASLT_EPILOGUE_BGRADA);
}

TEST(CublasLtHeader, StructsAreReadAtTheRightPlaces) {
  EXPECT_EQ(cublaslt_dialect.algorithm_bytes, sizeof(cublasLtMatmulAlgo_t));
  EXPECT_EQ(cublaslt_dialect.result_bytes, sizeof(cublasLtMatmulHeuristicResult_t));
  const std::size_t tail = cublaslt_dialect.algorithm_bytes;
  EXPECT_EQ(offsetof(cublasLtMatmulHeuristicResult_t, algo), 0u);
  EXPECT_EQ(offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize),
            tail + offsetof(ResultTail, workspace_bytes));
  EXPECT_EQ(offsetof(cublasLtMatmulHeuristicResult_t, state), tail + offsetof(ResultTail, status));
  EXPECT_EQ(offsetof(cublasLtMatmulHeuristicResult_t, wavesCount),
            tail + offsetof(ResultTail, waves));
  EXPECT_EQ(tail + sizeof(ResultTail), cublaslt_dialect.result_bytes);
  EXPECT_EQ(CUBLASLT_ALGO_CAP_SPLITK_SUPPORT, 0);
  EXPECT_EQ(CUBLASLT_ALGO_CAP_TILE_IDS, 6);
  EXPECT_EQ(CUBLASLT_ALGO_CAP_CUSTOM_OPTION_MAX, 7);
  EXPECT_EQ(CUBLASLT_ALGO_CAP_STAGES_IDS, 13);
  EXPECT_EQ(CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, 3);
  EXPECT_EQ(CUBLASLT_REDUCTION_SCHEME_NONE, 0);
  EXPECT_EQ(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE, 2);
  EXPECT_EQ(CUBLASLT_ALGO_CONFIG_ID, 0);
  EXPECT_EQ(CUBLASLT_ALGO_CONFIG_TILE_ID, 1);
  EXPECT_EQ(CUBLASLT_ALGO_CONFIG_SPLITK_NUM, 2);
  EXPECT_EQ(CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, 4);
  EXPECT_EQ(CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, 5);
  EXPECT_EQ(CUBLASLT_ALGO_CONFIG_STAGES_ID, 6);
  EXPECT_EQ(CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, 7);
  EXPECT_EQ(CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, 8);
}

// The header overloads these two for the data types of CUDA 10; the library exports the newer ones.
using GemmEx = cublasStatus_t (*)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int,
                                  int, const void*, const void*, cudaDataType, int, const void*,
                                  cudaDataType, int, const void*, void*, cudaDataType, int,
                                  cublasComputeType_t, cublasGemmAlgo_t);
using GemmStridedBatchedEx = cublasStatus_t (*)(cublasHandle_t, cublasOperation_t,
                                                cublasOperation_t, int, int, int, const void*,
                                                const void*, cudaDataType, int, long long,
                                                const void*, cudaDataType, int, long long,
                                                const void*, void*, cudaDataType, int, long long,
                                                int, cublasComputeType_t, cublasGemmAlgo_t);

TEST(CublasHeader, Prototypes) {
  using cublas::Functions;
  ASSAY_EXPECT_MATCH(Functions, create, cublasCreate_v2)
  ASSAY_EXPECT_MATCH(Functions, destroy, cublasDestroy_v2)
  ASSAY_EXPECT_MATCH(Functions, get_version, cublasGetVersion_v2)
  ASSAY_EXPECT_MATCH(Functions, set_stream, cublasSetStream_v2)
  ASSAY_EXPECT_MATCH(Functions, set_workspace, cublasSetWorkspace_v2)
  EXPECT_TRUE(
      (abi::Match<decltype(Functions::gemm), decltype(static_cast<GemmEx>(&cublasGemmEx))>::value));
  EXPECT_TRUE((
      abi::Match<decltype(Functions::gemm_batched),
                 decltype(static_cast<GemmStridedBatchedEx>(&cublasGemmStridedBatchedEx))>::value));
  EXPECT_EQ(cublas::default_algorithm, CUBLAS_GEMM_DEFAULT);
}

}  // namespace
}  // namespace assay::lt
#else
TEST(CublasLtHeader, Prototypes) {
  GTEST_SKIP() << "cublasLt.h is not installed";
}
#endif

#if __has_include(<oneapi/dnnl/dnnl.h>)
#include <oneapi/dnnl/dnnl.h>

namespace assay::onednn {
namespace {

#define COMMON(member, symbol, parameters) ASSAY_EXPECT_MATCH(Functions, member, symbol)
#define V2(member, symbol, parameters) ASSAY_EXPECT_MATCH(FunctionsV2, member, symbol)
#define V3(member, symbol, parameters) ASSAY_EXPECT_MATCH(FunctionsV3, member, symbol)

TEST(OneDnnHeader, Prototypes) {
  ASSAY_ONEDNN_FUNCTIONS(COMMON)
  ASSAY_EXPECT_MATCH(Functions, primitive_desc_md, dnnl_primitive_desc_query_md)
  ASSAY_EXPECT_MATCH(Functions, desc_bytes, dnnl_memory_desc_get_size)
  ASSAY_EXPECT_MATCH(Functions, descs_equal, dnnl_memory_desc_equal)
  ASSAY_EXPECT_MATCH(Functions, version, dnnl_version)
#if DNNL_VERSION_MAJOR == 2
  ASSAY_ONEDNN_V2_FUNCTIONS(V2)
#else
  ASSAY_ONEDNN_V3_FUNCTIONS(V3)
#endif
}

TEST(OneDnnHeader, Numbers) {
  EXPECT_EQ(success, dnnl_success);
  EXPECT_EQ(out_of_memory, dnnl_out_of_memory);
  EXPECT_EQ(invalid_arguments, dnnl_invalid_arguments);
  EXPECT_EQ(unimplemented, dnnl_unimplemented);
  EXPECT_EQ(engine_cpu, dnnl_cpu);
  EXPECT_EQ(stream_in_order, static_cast<unsigned>(dnnl_stream_in_order));
  EXPECT_EQ(format_any, dnnl_format_tag_any);
  EXPECT_EQ(query_implementation, dnnl_query_impl_info_str);
  EXPECT_EQ(query_source, dnnl_query_src_md);
  EXPECT_EQ(query_source_gradient, dnnl_query_diff_src_md);
  EXPECT_EQ(query_weights, dnnl_query_weights_md);
  EXPECT_EQ(query_weights_gradient, dnnl_query_diff_weights_md);
  EXPECT_EQ(query_destination, dnnl_query_dst_md);
  EXPECT_EQ(query_destination_gradient, dnnl_query_diff_dst_md);
  EXPECT_EQ(query_scratchpad, dnnl_query_scratchpad_md);
  EXPECT_EQ(scratchpad_user, dnnl_scratchpad_mode_user);
  EXPECT_EQ(argument_scratchpad, DNNL_ARG_SCRATCHPAD);
  EXPECT_EQ(forward_training, dnnl_forward_training);
  EXPECT_EQ(convolution_direct, dnnl_convolution_direct);
  EXPECT_EQ(argument_source_gradient, DNNL_ARG_DIFF_SRC);
  EXPECT_EQ(argument_weights_gradient, DNNL_ARG_DIFF_WEIGHTS);
  EXPECT_EQ(argument_destination_gradient, DNNL_ARG_DIFF_DST);
  EXPECT_EQ(argument_source, DNNL_ARG_SRC);
  EXPECT_EQ(argument_source_1, DNNL_ARG_SRC_1);
  EXPECT_EQ(argument_destination, DNNL_ARG_DST);
  EXPECT_EQ(argument_weights, DNNL_ARG_WEIGHTS);
  EXPECT_EQ(argument_bias, DNNL_ARG_BIAS);
  EXPECT_EQ(argument_post_op, DNNL_ARG_ATTR_MULTIPLE_POST_OP_BASE);
  EXPECT_EQ(binary_add, dnnl_binary_add);
  EXPECT_EQ(data_type(DataType::f16), dnnl_f16);
  EXPECT_EQ(data_type(DataType::bf16), dnnl_bf16);
  EXPECT_EQ(data_type(DataType::f32), dnnl_f32);
  EXPECT_EQ(data_type(DataType::i8), dnnl_s8);
  EXPECT_EQ(data_type(DataType::i32), dnnl_s32);
  EXPECT_EQ(most_dimensions, DNNL_MAX_NDIMS);
  EXPECT_EQ(sizeof(Argument), sizeof(dnnl_exec_arg_t));
  EXPECT_EQ(sizeof(Version), sizeof(dnnl_version_t));
  const Eltwise& eltwise = DNNL_VERSION_MAJOR == 2 ? eltwise_v2 : eltwise_v3;
  EXPECT_EQ(eltwise.relu, dnnl_eltwise_relu);
  EXPECT_EQ(eltwise.linear, dnnl_eltwise_linear);
  EXPECT_EQ(eltwise.gelu_tanh, dnnl_eltwise_gelu_tanh);
#if DNNL_VERSION_MAJOR == 2
  EXPECT_LE(sizeof(dnnl_memory_desc_t), memory_desc_bytes_v2);
  EXPECT_LE(sizeof(dnnl_matmul_desc_t), matmul_desc_bytes_v2);
  EXPECT_LE(sizeof(dnnl_convolution_desc_t), convolution_desc_bytes_v2);
#endif
}

}  // namespace
}  // namespace assay::onednn
#else
TEST(OneDnnHeader, Prototypes) {
  GTEST_SKIP() << "oneapi/dnnl/dnnl.h is not installed";
}
#endif

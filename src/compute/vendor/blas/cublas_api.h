// The few cuBLAS functions that are used. Enumerators are those of cuBLASLt (lt_dialects.h).
#pragma once

#include <cstddef>

namespace assay::cublas {

constexpr int default_algorithm = -1;  // CUBLAS_GEMM_DEFAULT

// F(member, symbol, parameters); all functions return a status, 0 being success.
#define ASSAY_CUBLAS_FUNCTIONS(F)                                                             \
  F(create, cublasCreate_v2, (void** handle))                                                 \
  F(destroy, cublasDestroy_v2, (void* handle))                                                \
  F(get_version, cublasGetVersion_v2, (void* handle, int* version))                           \
  F(set_stream, cublasSetStream_v2, (void* handle, void* stream))                             \
  F(set_workspace, cublasSetWorkspace_v2, (void* handle, void* workspace, std::size_t bytes)) \
  F(gemm, cublasGemmEx,                                                                       \
    (void* handle, int op_a, int op_b, int m, int n, int k, const void* alpha, const void* a, \
     int a_type, int lda, const void* b, int b_type, int ldb, const void* beta, void* c,      \
     int c_type, int ldc, int compute, int algorithm))                                        \
  F(gemm_batched, cublasGemmStridedBatchedEx,                                                 \
    (void* handle, int op_a, int op_b, int m, int n, int k, const void* alpha, const void* a, \
     int a_type, int lda, long long stride_a, const void* b, int b_type, int ldb,             \
     long long stride_b, const void* beta, void* c, int c_type, int ldc, long long stride_c,  \
     int batch, int compute, int algorithm))

struct Functions {
#define ASSAY_CUBLAS_MEMBER(member, symbol, parameters) int(*member) parameters = nullptr;
  ASSAY_CUBLAS_FUNCTIONS(ASSAY_CUBLAS_MEMBER)
#undef ASSAY_CUBLAS_MEMBER
};

}  // namespace assay::cublas

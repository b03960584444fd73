// The C interface that cuBLASLt and hipBLASLt share: the same functions under two prefixes, with
// different numbers for the same enumerators.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "compute/vendor/blas/gemm_problem.h"
#include "core/data_type.h"
#include "core/result.h"

namespace assay::lt {

using Handle = void*;
using MatrixLayout = void*;
using MatmulDesc = void*;
using Preference = void*;

// F(member, symbol without prefix, parameters); all return a status, 0 being success.
#define ASSAY_LT_FUNCTIONS(F)                                                                  \
  F(create, Create, (Handle*))                                                                 \
  F(destroy, Destroy, (Handle))                                                                \
  F(layout_create, MatrixLayoutCreate,                                                         \
    (MatrixLayout*, int type, std::uint64_t rows, std::uint64_t columns, std::int64_t ld))     \
  F(layout_set, MatrixLayoutSetAttribute, (MatrixLayout, int, const void*, std::size_t))       \
  F(layout_destroy, MatrixLayoutDestroy, (MatrixLayout))                                       \
  F(desc_create, MatmulDescCreate, (MatmulDesc*, int compute, int scale_type))                 \
  F(desc_set, MatmulDescSetAttribute, (MatmulDesc, int, const void*, std::size_t))             \
  F(desc_destroy, MatmulDescDestroy, (MatmulDesc))                                             \
  F(preference_create, MatmulPreferenceCreate, (Preference*))                                  \
  F(preference_set, MatmulPreferenceSetAttribute, (Preference, int, const void*, std::size_t)) \
  F(preference_destroy, MatmulPreferenceDestroy, (Preference))                                 \
  F(heuristic, MatmulAlgoGetHeuristic,                                                         \
    (Handle, MatmulDesc, MatrixLayout a, MatrixLayout b, MatrixLayout c, MatrixLayout d,       \
     Preference, int requested, void* results, int* found))                                    \
  F(matmul, Matmul,                                                                            \
    (Handle, MatmulDesc, const void* alpha, const void* a, MatrixLayout, const void* b,        \
     MatrixLayout, const void* beta, const void* c, MatrixLayout, void* d, MatrixLayout,       \
     const void* algorithm, void* workspace, std::size_t workspace_bytes, void* stream))

struct Functions {
#define ASSAY_LT_MEMBER(member, symbol, parameters) int(*member) parameters = nullptr;
  ASSAY_LT_FUNCTIONS(ASSAY_LT_MEMBER)
#undef ASSAY_LT_MEMBER
};

constexpr int absent = -1;  // the library has no such attribute

/// The numbers of one library (facts: cublasLt.h 13.1, hipblaslt.h of ROCm 6 and 7).
struct Dialect {
  std::string_view name;
  int operation_none, operation_transpose;
  int compute_f32, compute_tf32, compute_f64, compute_i32;
  int layout_batch_count, layout_batch_stride;
  int desc_transpose_a, desc_transpose_b, desc_epilogue, desc_bias_pointer, desc_bias_type;
  int desc_scale_a, desc_scale_b, desc_scale_d, desc_amax_d;
  int desc_scale_mode_a, desc_scale_mode_b;  ///< cublaslt 12.9, hipblaslt 1.0 and newer have them
  int desc_aux_pointer, desc_aux_ld, desc_aux_type, desc_fast_accumulate, desc_multiprocessors;
  int preference_workspace, preference_reduction_mask, preference_alignment_a;
  std::size_t algorithm_bytes, result_bytes;
  std::string_view (*status_name)(int status);
  int status_not_supported, status_invalid, status_no_memory;
  /// Whether C may be null if beta is 0. cublaslt refuses to take D for C if their types differ;
  /// hipblaslt refuses null.
  bool takes_null_c;
};

/// Returns the kind of error of a call that failed with this status.
inline ErrorKind kind_of_status(const Dialect& dialect, int status) {
  return status == dialect.status_not_supported ? ErrorKind::unsupported
         : status == dialect.status_no_memory   ? ErrorKind::exhausted
                                                : ErrorKind::failed;
}

/// The fields that follow the algorithm (algorithm_bytes) in one result of the heuristic.
struct ResultTail {
  std::size_t workspace_bytes;
  int status;
  float waves;
  int reserved[4];
};

/// cudaDataType and hipDataType agree.
constexpr int data_type(DataType type) {
  switch (type) {
    case DataType::f64:
      return 1;
    case DataType::f32:
    case DataType::tf32:
      return 0;
    case DataType::f16:
      return 2;
    case DataType::bf16:
      return 14;
    case DataType::e4m3:
      return 28;
    case DataType::e5m2:
      return 29;
    case DataType::e4m3_fnuz:
      return 1000;
    case DataType::e5m2_fnuz:
      return 1001;
    case DataType::i8:
      return 3;
    case DataType::i32:
      return 10;
    default:
      return absent;  // no library multiplies this type
  }
}

/// Returns the library's number of the type in which products of `compute` are summed.
constexpr int compute_number(const Dialect& dialect, DataType compute) {
  switch (compute) {
    case DataType::f64:
      return dialect.compute_f64;
    case DataType::tf32:
      return dialect.compute_tf32;
    case DataType::i32:
      return dialect.compute_i32;
    default:
      return dialect.compute_f32;
  }
}

/// The epilogue numbers also agree. Operands are swapped (see lt_descriptors.h), so our A is their
/// B.
constexpr std::uint32_t epilogue_number(Epilogue epilogue) {
  switch (epilogue) {
    case Epilogue::none:
      return 1;
    case Epilogue::relu:
      return 2;
    case Epilogue::bias:
      return 4;
    case Epilogue::relu_bias:
      return 6;
    case Epilogue::gelu:
      return 32;
    case Epilogue::gelu_bias:
      return 36;
    case Epilogue::gelu_aux:
      return 160;
    case Epilogue::gelu_aux_bias:
      return 164;
    case Epilogue::dgelu:
      return 192;
    case Epilogue::dgelu_bgrad:
      return 208;
    case Epilogue::bgrad_b:
      return 256;  // their BGRADA
    case Epilogue::bgrad_a:
      return 512;  // their BGRADB
  }
  return 1;
}

}  // namespace assay::lt

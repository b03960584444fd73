// The enum numbers of cuBLASLt (12 and 13) and hipBLASLt (ROCm 6 and later). tests/abi checks the
// first against cublasLt.h.
#pragma once

#include <fmt/format.h>

#include <string>

#include "compute/vendor/blas/lt_api.h"

namespace assay::lt {

/// Returns "13.1.0" for 130100, the numbering of cuBLAS and cuBLASLt.
inline std::string cuda_version_text(std::size_t number) {
  return fmt::format("{}.{}.{}", number / 10000, number / 100 % 100, number % 100);
}

constexpr std::string_view cublaslt_status_name(int status) {
  switch (status) {
    case 0:
      return "SUCCESS";
    case 1:
      return "NOT_INITIALIZED";
    case 3:
      return "ALLOC_FAILED";
    case 7:
      return "INVALID_VALUE";
    case 8:
      return "ARCH_MISMATCH";
    case 11:
      return "MAPPING_ERROR";
    case 13:
      return "EXECUTION_FAILED";
    case 14:
      return "INTERNAL_ERROR";
    case 15:
      return "NOT_SUPPORTED";
    default:
      return "unknown status";
  }
}

constexpr std::string_view hipblaslt_status_name(int status) {
  switch (status) {
    case 0:
      return "SUCCESS";
    case 1:
      return "NOT_INITIALIZED";
    case 2:
      return "ALLOC_FAILED";
    case 3:
      return "INVALID_VALUE";
    case 4:
      return "MAPPING_ERROR";
    case 5:
      return "EXECUTION_FAILED";
    case 6:
      return "INTERNAL_ERROR";
    case 7:
      return "NOT_SUPPORTED";
    case 8:
      return "ARCH_MISMATCH";
    default:
      return "unknown status";
  }
}

/// The scale mode in both libraries in which each row of D has a factor, and each column.
inline constexpr std::int32_t scale_of_lines = 3;

inline constexpr Dialect cublaslt_dialect = {
    .name = "cublaslt",
    .operation_none = 0,
    .operation_transpose = 1,
    .compute_f32 = 68,
    .compute_tf32 = 77,
    .compute_f64 = 70,
    .compute_i32 = 72,
    .layout_batch_count = 5,
    .layout_batch_stride = 6,
    .desc_transpose_a = 3,
    .desc_transpose_b = 4,
    .desc_epilogue = 7,
    .desc_bias_pointer = 8,
    .desc_bias_type = 26,
    .desc_scale_a = 17,
    .desc_scale_b = 18,
    .desc_scale_d = 20,
    .desc_amax_d = 21,
    .desc_scale_mode_a = 31,
    .desc_scale_mode_b = 32,
    .desc_aux_pointer = 11,
    .desc_aux_ld = 12,
    .desc_aux_type = 22,
    .desc_fast_accumulate = 25,
    .desc_multiprocessors = 15,
    .preference_workspace = 1,
    .preference_reduction_mask = 3,
    .preference_alignment_a = 5,
    .algorithm_bytes = 64,
    .result_bytes = 96,
    .status_name = &cublaslt_status_name,
    .status_not_supported = 15,
    .status_invalid = 7,
    .status_no_memory = 3,
    .takes_null_c = true,
};

inline constexpr Dialect hipblaslt_dialect = {
    .name = "hipblaslt",
    .operation_none = 111,
    .operation_transpose = 112,
    .compute_f32 = 2,
    .compute_tf32 = 6,
    .compute_f64 = 7,
    .compute_i32 = 9,
    .layout_batch_count = 0,
    .layout_batch_stride = 1,
    .desc_transpose_a = 0,
    .desc_transpose_b = 1,
    .desc_epilogue = 2,
    .desc_bias_pointer = 3,
    .desc_bias_type = 4,
    .desc_scale_a = 5,
    .desc_scale_b = 6,
    .desc_scale_d = 8,
    .desc_amax_d = 14,
    .desc_scale_mode_a = 31,
    .desc_scale_mode_b = 32,
    .desc_aux_pointer = 10,
    .desc_aux_ld = 11,
    .desc_aux_type = 22,
    .desc_fast_accumulate = absent,
    .desc_multiprocessors = absent,
    .preference_workspace = 1,
    .preference_reduction_mask = absent,
    .preference_alignment_a = absent,
    .algorithm_bytes = 24,
    .result_bytes = 56,
    .status_name = &hipblaslt_status_name,
    .status_not_supported = 7,
    .status_invalid = 3,
    .status_no_memory = 2,
    .takes_null_c = false,
};

}  // namespace assay::lt

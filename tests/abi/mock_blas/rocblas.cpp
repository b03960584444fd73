// librocblas for tests, from the declarations of rocblas-functions.h and rocblas-beta.h (ROCm 6).
// Solutions 7 and -12 exist beside the standard algorithm, which is slow.
#include <chrono>
#include <cstring>
#include <thread>

#include "mock_gemm.h"

namespace {

enum Status {
  success = 0,
  invalid_handle = 1,
  not_implemented = 2,
  invalid_size = 4,
  invalid_value = 11
};

struct Handle {
  void* stream = nullptr;
  void* workspace = nullptr;
};

mock::Type type_of(int number) {  // rocblas_datatype
  switch (number) {
    case 150:
      return mock::Type::f16;
    case 151:
      return mock::Type::f32;
    case 152:
      return mock::Type::f64;
    case 160:
      return mock::Type::i8;
    case 162:
      return mock::Type::i32;
    case 168:
      return mock::Type::bf16;
    default:
      return mock::Type::unknown;
  }
}

int multiply(const Handle* handle, mock::Gemm gemm, int op_a, int op_b, const void* alpha,
             const void* beta, int compute, int algorithm, std::int32_t solution) {
  if (handle == nullptr || handle->stream == nullptr) return invalid_handle;
  if ((op_a != 111 && op_a != 112) || (op_b != 111 && op_b != 112)) return invalid_value;
  gemm.transpose_a = op_a == 112;
  gemm.transpose_b = op_b == 112;
  if (gemm.a_type == mock::Type::unknown || gemm.d_type == mock::Type::unknown) {
    return not_implemented;
  }
  if (gemm.lda < (gemm.transpose_a ? gemm.inner : gemm.rows) ||
      gemm.ldb < (gemm.transpose_b ? gemm.columns : gemm.inner) || gemm.ldd < gemm.rows) {
    return invalid_size;
  }
  gemm.alpha = mock::load(alpha, type_of(compute), 0);
  gemm.beta = mock::load(beta, type_of(compute), 0);
  if (algorithm == 1 && solution != 7 && solution != -12) return invalid_value;
  if (algorithm == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  gemm.run();
  return success;
}

int list_solutions(std::int32_t* list, std::int32_t* size) {
  if (list == nullptr) {
    *size = 2;
    return success;
  }
  if (*size < 2) return invalid_size;
  list[0] = 7;
  list[1] = -12;
  return success;
}

}  // namespace

extern "C" {

int rocblas_create_handle(void** handle) {
  *handle = new Handle;
  return success;
}
int rocblas_destroy_handle(void* handle) {
  delete static_cast<Handle*>(handle);
  return success;
}
int rocblas_get_version_string(char* text, std::size_t bytes) {
  if (bytes < 6) return invalid_size;
  std::strcpy(text, "4.2.1");
  return success;
}
int rocblas_set_stream(void* handle, void* stream) {
  static_cast<Handle*>(handle)->stream = stream;
  return success;
}
int rocblas_set_workspace(void* handle, void* address, std::size_t) {
  static_cast<Handle*>(handle)->workspace = address;
  return success;
}

int rocblas_gemm_ex(void* handle, int op_a, int op_b, std::int32_t m, std::int32_t n,
                    std::int32_t k, const void* alpha, const void* a, int a_type, std::int32_t lda,
                    const void* b, int b_type, std::int32_t ldb, const void* beta, const void* c,
                    int c_type, std::int32_t ldc, void* d, int d_type, std::int32_t ldd,
                    int compute, int algorithm, std::int32_t solution, std::uint32_t) {
  mock::Gemm gemm;
  gemm.rows = m, gemm.columns = n, gemm.inner = k;
  gemm.a = a, gemm.b = b, gemm.c = c, gemm.d = d;
  gemm.a_type = type_of(a_type), gemm.b_type = type_of(b_type);
  gemm.c_type = type_of(c_type), gemm.d_type = type_of(d_type);
  gemm.lda = lda, gemm.ldb = ldb, gemm.ldc = ldc, gemm.ldd = ldd;
  return multiply(static_cast<Handle*>(handle), gemm, op_a, op_b, alpha, beta, compute, algorithm,
                  solution);
}

int rocblas_gemm_strided_batched_ex(void* handle, int op_a, int op_b, std::int32_t m,
                                    std::int32_t n, std::int32_t k, const void* alpha,
                                    const void* a, int a_type, std::int32_t lda,
                                    std::int64_t stride_a, const void* b, int b_type,
                                    std::int32_t ldb, std::int64_t stride_b, const void* beta,
                                    const void* c, int c_type, std::int32_t ldc,
                                    std::int64_t stride_c, void* d, int d_type, std::int32_t ldd,
                                    std::int64_t stride_d, std::int32_t batch, int compute,
                                    int algorithm, std::int32_t solution, std::uint32_t) {
  mock::Gemm gemm;
  gemm.rows = m, gemm.columns = n, gemm.inner = k, gemm.batch = batch;
  gemm.a = a, gemm.b = b, gemm.c = c, gemm.d = d;
  gemm.a_type = type_of(a_type), gemm.b_type = type_of(b_type);
  gemm.c_type = type_of(c_type), gemm.d_type = type_of(d_type);
  gemm.lda = lda, gemm.ldb = ldb, gemm.ldc = ldc, gemm.ldd = ldd;
  gemm.stride_a = stride_a, gemm.stride_b = stride_b;
  gemm.stride_c = stride_c, gemm.stride_d = stride_d;
  return multiply(static_cast<Handle*>(handle), gemm, op_a, op_b, alpha, beta, compute, algorithm,
                  solution);
}

int rocblas_gemm_ex_get_solutions(void*, int, int, std::int32_t, std::int32_t, std::int32_t,
                                  const void*, const void*, int, std::int32_t, const void*, int,
                                  std::int32_t, const void*, const void*, int, std::int32_t, void*,
                                  int, std::int32_t, int, int algorithm, std::uint32_t flags,
                                  std::int32_t* list, std::int32_t* size) {
  if (algorithm != 1 || flags != 0) return invalid_value;
  return list_solutions(list, size);
}

int rocblas_gemm_strided_batched_ex_get_solutions(
    void*, int, int, std::int32_t, std::int32_t, std::int32_t, const void*, const void*, int,
    std::int32_t, std::int64_t, const void*, int, std::int32_t, std::int64_t, const void*,
    const void*, int, std::int32_t, std::int64_t, void*, int, std::int32_t, std::int64_t,
    std::int32_t, int, int algorithm, std::uint32_t flags, std::int32_t* list, std::int32_t* size) {
  if (algorithm != 1 || flags != 0) return invalid_value;
  return list_solutions(list, size);
}

}  // extern "C"

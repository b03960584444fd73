// librocblas on the host, after the declarations in rocblas-functions.h and rocblas-beta.h (ROCm
// 6). It has solutions 7 and -12 besides the standard algorithm, which is slow.
#include <cstring>

#include "libraries/failures.h"
#include "libraries/gemm.h"
#include "libraries/hooks.h"

namespace {

using mi300x::Gemm;
using mi300x::Matrix;
using mi300x::Number;

enum Status {
  success = 0,
  invalid_handle = 1,
  not_implemented = 2,
  invalid_pointer = 3,
  invalid_size = 4,
  internal_error = 6,
  invalid_value = 11
};

mi300x::Failures& failures() {
  static mi300x::Failures all;
  return all;
}

struct Handle {
  void* stream = nullptr;
  void* workspace = nullptr;
};

Number number_of(int type) {  // rocblas_datatype
  switch (type) {
    case 150:
      return Number::f16;
    case 151:
      return Number::f32;
    case 152:
      return Number::f64;
    case 160:
      return Number::i8;
    case 162:
      return Number::i32;
    case 168:
      return Number::bf16;
    default:
      return Number::unknown;
  }
}

/// The type combinations in rocblas_gemm_ex's table that this library supports.
bool multiplies(Number a, Number b, Number c, Number d, Number compute) {
  if (a != b || c != d) return false;
  if (a == Number::f64) return c == a && compute == Number::f64;
  if (a == Number::i8) return c == Number::i32 && compute == Number::i32;
  const bool narrow = a == Number::f16 || a == Number::bf16;
  if (!narrow && a != Number::f32) return false;
  return compute == Number::f32 && (c == a || (narrow && c == Number::f32));
}

/// One product as the caller describes it; `a` is op(A) with `rows` x `inner` elements.
struct Call {
  int op_a, op_b;
  std::int64_t rows, columns, inner, batch;
  const void *alpha, *beta;
  Matrix a, b, c, d;
  int compute, algorithm;
  std::int32_t solution;
};

/// Makes a matrix from type, data, leading dimension and stride; its size follows from the call.
Matrix operand(int type, const void* data, std::int32_t ld, std::int64_t stride) {
  return {number_of(type), const_cast<void*>(data), 0, 0, ld, stride};
}

/// Sets the stored size of `matrix`; returns false if its leading dimension or stride is too small.
bool shape(Matrix& matrix, bool transpose, std::int64_t rows, std::int64_t columns,
           std::int64_t batch) {
  matrix.rows = transpose ? columns : rows;
  matrix.columns = transpose ? rows : columns;
  return matrix.ld >= matrix.rows &&
         (batch == 1 || matrix.stride >= matrix.ld * (matrix.columns - 1) + matrix.rows ||
          mi300x::side_by_side(matrix.rows, matrix.ld, matrix.stride, batch));
}

int multiply(void* object, Call call) {
  if (const int status = failures().take("rocblas_gemm_ex")) return status;
  const auto* handle = static_cast<const Handle*>(object);
  if (handle == nullptr || handle->stream == nullptr) return invalid_handle;
  const bool ta = call.op_a == 112, tb = call.op_b == 112;
  if ((!ta && call.op_a != 111) || (!tb && call.op_b != 111)) return invalid_value;
  const Number compute = number_of(call.compute);
  if (!multiplies(call.a.type, call.b.type, call.c.type, call.d.type, compute)) {
    return not_implemented;
  }
  if (call.rows < 1 || call.columns < 1 || call.inner < 1 || call.batch < 1) return invalid_size;
  if (!shape(call.a, ta, call.rows, call.inner, call.batch) ||
      !shape(call.b, tb, call.inner, call.columns, call.batch) ||
      !shape(call.c, false, call.rows, call.columns, call.batch) ||
      !shape(call.d, false, call.rows, call.columns, call.batch)) {
    return invalid_size;
  }
  for (const void* pointer :
       {call.alpha, call.beta, static_cast<const void*>(call.a.data),
        static_cast<const void*>(call.b.data), static_cast<const void*>(call.c.data),
        static_cast<const void*>(call.d.data)}) {
    if (pointer == nullptr) return invalid_pointer;
  }
  if (call.algorithm == 1 && call.solution != 7 && call.solution != -12) return invalid_value;
  Gemm gemm;
  gemm.transpose_a = ta;
  gemm.transpose_b = tb;
  gemm.a = call.a;
  gemm.b = call.b;
  gemm.c = call.c;
  gemm.d = call.d;
  gemm.batch = call.batch;
  gemm.alpha = mi300x::load(call.alpha, compute, 0);
  gemm.beta = mi300x::load(call.beta, compute, 0);
  const double slower = call.algorithm == 0 ? 3 : 1;
  const int status = mi300x::enqueue(
      handle->stream, [gemm] { gemm.run(); }, slower * gemm.seconds());
  return status == 0 ? success : internal_error;
}

int list_solutions(std::int32_t* list, std::int32_t* size) {
  const char* const step = list == nullptr ? "count solutions" : "list solutions";
  if (const int status = failures().take(step)) return status;
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

void mock_rocblas_fail_next(const char* function, int status) {
  failures().fail_next(function, status);
}

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
  return multiply(handle, {op_a, op_b, m, n, k, 1, alpha, beta, operand(a_type, a, lda, 0),
                           operand(b_type, b, ldb, 0), operand(c_type, c, ldc, 0),
                           operand(d_type, d, ldd, 0), compute, algorithm, solution});
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
  return multiply(handle,
                  {op_a, op_b, m, n, k, batch, alpha, beta, operand(a_type, a, lda, stride_a),
                   operand(b_type, b, ldb, stride_b), operand(c_type, c, ldc, stride_c),
                   operand(d_type, d, ldd, stride_d), compute, algorithm, solution});
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

// libhipblaslt for tests, from the declarations of hipblaslt.h (ROCm 6): values and sizes of its
// own, so that a mistake in ours shows. Three solutions: 101 (slow), 102, and 103, which does not
// apply.
#include <chrono>
#include <cstring>
#include <map>
#include <thread>

#include "mock_gemm.h"

namespace {

enum Status { success = 0, not_initialized = 1, invalid_value = 3, not_supported = 7 };

mock::Type type_of(int number) {  // hipDataType
  switch (number) {
    case 0:
      return mock::Type::f32;
    case 1:
      return mock::Type::f64;
    case 2:
      return mock::Type::f16;
    case 3:
      return mock::Type::i8;
    case 10:
      return mock::Type::i32;
    case 14:
      return mock::Type::bf16;
    case 28:
      return mock::Type::e4m3;
    case 29:
      return mock::Type::e5m2;
    case 1000:
      return mock::Type::e4m3_fnuz;
    case 1001:
      return mock::Type::e5m2_fnuz;
    default:
      return mock::Type::unknown;
  }
}

struct Layout {
  int type;
  std::uint64_t rows, columns;
  std::int64_t ld;
  std::int32_t batch = 1;
  std::int64_t stride = 0;
};

struct Desc {
  int compute, scale_type;
  std::int32_t transpose_a = 111, transpose_b = 111;
  std::uint32_t epilogue = 1;
  std::int32_t bias_type = -1;
  std::int64_t aux_ld = 0;
  std::map<int, void*> pointers = {};
};

struct Algorithm {
  unsigned char data[16];
  std::size_t largest_workspace;
};
struct Result {
  Algorithm algorithm;
  std::size_t workspace;
  int state;
  float waves;
  int reserved[4];
};
static_assert(sizeof(Algorithm) == 24 && sizeof(Result) == 56);

template <typename T>
int assign(T& to, const void* from, std::size_t bytes) {
  if (from == nullptr || bytes != sizeof(T)) return invalid_value;
  std::memcpy(&to, from, sizeof(T));
  return success;
}

bool fits(const Layout& layout, bool transpose, std::uint64_t rows, std::uint64_t columns) {
  return (transpose ? layout.columns : layout.rows) == rows &&
         (transpose ? layout.rows : layout.columns) == columns &&
         layout.ld >= static_cast<std::int64_t>(layout.rows) &&
         type_of(layout.type) != mock::Type::unknown;
}

bool consistent(const Desc& desc, const Layout& a, const Layout& b, const Layout& c,
                const Layout& d) {
  const bool ta = desc.transpose_a == 112, tb = desc.transpose_b == 112;
  if ((!ta && desc.transpose_a != 111) || (!tb && desc.transpose_b != 111)) return false;
  const std::uint64_t inner = ta ? a.rows : a.columns;
  return fits(a, ta, d.rows, inner) && fits(b, tb, inner, d.columns) &&
         fits(c, false, d.rows, d.columns) && d.ld >= static_cast<std::int64_t>(d.rows) &&
         a.batch == d.batch && b.batch == d.batch && c.batch == d.batch;
}

double scalar(const Desc& desc, const void* value) {
  return mock::load(value, type_of(desc.scale_type), 0);
}

}  // namespace

extern "C" {

int hipblasLtCreate(void** handle) {
  *handle = new int(1);
  return success;
}
int hipblasLtDestroy(void* handle) {
  delete static_cast<int*>(handle);
  return success;
}
int hipblasLtGetVersion(void* handle, int* version) {
  if (handle == nullptr) return not_initialized;
  *version = 1203;
  return success;
}

int hipblasLtMatrixLayoutCreate(void** out, int type, std::uint64_t rows, std::uint64_t columns,
                                std::int64_t ld) {
  *out = new Layout{type, rows, columns, ld};
  return success;
}
int hipblasLtMatrixLayoutDestroy(void* layout) {
  delete static_cast<Layout*>(layout);
  return success;
}
int hipblasLtMatrixLayoutSetAttribute(void* object, int attribute, const void* value,
                                      std::size_t bytes) {
  auto& layout = *static_cast<Layout*>(object);
  if (attribute == 0) return assign(layout.batch, value, bytes);
  if (attribute == 1) return assign(layout.stride, value, bytes);
  return invalid_value;
}

int hipblasLtMatmulDescCreate(void** out, int compute, int scale_type) {
  const bool matches = (compute == 2 && scale_type == 0) || (compute == 6 && scale_type == 0) ||
                       (compute == 7 && scale_type == 1) || (compute == 9 && scale_type == 10);
  if (!matches) return invalid_value;
  *out = new Desc{compute, scale_type};
  return success;
}
int hipblasLtMatmulDescDestroy(void* desc) {
  delete static_cast<Desc*>(desc);
  return success;
}
int hipblasLtMatmulDescSetAttribute(void* object, int attribute, const void* value,
                                    std::size_t bytes) {
  auto& desc = *static_cast<Desc*>(object);
  switch (attribute) {
    case 0:
      return assign(desc.transpose_a, value, bytes);
    case 1:
      return assign(desc.transpose_b, value, bytes);
    case 2:
      return assign(desc.epilogue, value, bytes);
    case 4:
      return assign(desc.bias_type, value, bytes);
    case 11:
      return assign(desc.aux_ld, value, bytes);
    case 3:  // bias
    case 5:  // scales of A, B, D
    case 6:
    case 8:
    case 10:  // aux
    case 14:
      return assign(desc.pointers[attribute], value, bytes);  // amax of D
    default:
      return invalid_value;
  }
}

int hipblasLtMatmulPreferenceCreate(void** out) {
  *out = new std::uint64_t(0);
  return success;
}
int hipblasLtMatmulPreferenceDestroy(void* preference) {
  delete static_cast<std::uint64_t*>(preference);
  return success;
}
int hipblasLtMatmulPreferenceSetAttribute(void* preference, int attribute, const void* value,
                                          std::size_t bytes) {
  if (attribute != 1) return invalid_value;
  return assign(*static_cast<std::uint64_t*>(preference), value, bytes);
}

int hipblasLtMatmulAlgoGetHeuristic(void* handle, void* desc, void* a, void* b, void* c, void* d,
                                    void* preference, int requested, void* results, int* found) {
  *found = 0;
  if (handle == nullptr) return not_initialized;
  const auto layout = [](void* x) -> const Layout& { return *static_cast<Layout*>(x); };
  if (!consistent(*static_cast<Desc*>(desc), layout(a), layout(b), layout(c), layout(d))) {
    return invalid_value;
  }
  const int indices[] = {101, 102, 103};
  for (const int index : indices) {
    if (*found == requested) break;
    Result result = {};
    std::memcpy(result.algorithm.data, &index, sizeof(index));
    result.workspace = index == 102 ? 4096 : 0;
    result.state = index == 103 ? not_supported : success;
    if (result.workspace > *static_cast<std::uint64_t*>(preference)) continue;
    static_cast<Result*>(results)[(*found)++] = result;
  }
  return success;
}

int hipblasLtMatmul(void* handle, void* object, const void* alpha, const void* a, void* a_layout,
                    const void* b, void* b_layout, const void* beta, const void* c, void* c_layout,
                    void* d, void* d_layout, const void* algorithm, void* workspace,
                    std::size_t workspace_bytes, void* stream) {
  if (handle == nullptr || stream == nullptr) return not_initialized;
  const auto& desc = *static_cast<Desc*>(object);
  const auto& la = *static_cast<Layout*>(a_layout);
  const auto& lb = *static_cast<Layout*>(b_layout);
  const auto& lc = *static_cast<Layout*>(c_layout);
  const auto& ld = *static_cast<Layout*>(d_layout);
  int solution = 0;
  std::memcpy(&solution, algorithm, sizeof(solution));
  if (!consistent(desc, la, lb, lc, ld)) return invalid_value;
  if (solution != 101 && (solution != 102 || workspace == nullptr || workspace_bytes < 4096)) {
    return invalid_value;
  }
  const auto pointer = [&](int attribute) -> void* {
    const auto found = desc.pointers.find(attribute);
    return found == desc.pointers.end() ? nullptr : found->second;
  };
  mock::Gemm gemm;
  gemm.transpose_a = desc.transpose_a == 112;
  gemm.transpose_b = desc.transpose_b == 112;
  gemm.rows = static_cast<std::int64_t>(ld.rows);
  gemm.columns = static_cast<std::int64_t>(ld.columns);
  gemm.inner = static_cast<std::int64_t>(gemm.transpose_a ? la.rows : la.columns);
  gemm.batch = ld.batch;
  gemm.a_type = type_of(la.type);
  gemm.b_type = type_of(lb.type);
  gemm.c_type = type_of(lc.type);
  gemm.d_type = type_of(ld.type);
  gemm.a = a;
  gemm.b = b;
  gemm.c = c;
  gemm.d = d;
  gemm.lda = la.ld;
  gemm.ldb = lb.ld;
  gemm.ldc = lc.ld;
  gemm.ldd = ld.ld;
  gemm.stride_a = la.stride;
  gemm.stride_b = lb.stride;
  gemm.stride_c = lc.stride;
  gemm.stride_d = ld.stride;
  gemm.alpha = scalar(desc, alpha);
  gemm.beta = scalar(desc, beta);
  for (const int scale : {5, 6, 8}) {
    if (const void* factor = pointer(scale)) gemm.alpha *= *static_cast<const float*>(factor);
  }
  gemm.epilogue = desc.epilogue;
  gemm.bias = pointer(3);
  gemm.bias_type = desc.bias_type < 0 ? gemm.d_type : type_of(desc.bias_type);
  gemm.aux = pointer(10);
  gemm.aux_type = gemm.d_type;
  gemm.ld_aux = desc.aux_ld;
  const bool wants_bias = desc.epilogue & (4 | 16 | 256 | 512);
  if ((wants_bias && gemm.bias == nullptr) || (desc.epilogue & 128 && gemm.aux == nullptr)) {
    return invalid_value;
  }
  if (solution == 101) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  gemm.run();
  return success;
}

}  // extern "C"

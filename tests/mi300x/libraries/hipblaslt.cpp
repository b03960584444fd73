// libhipblaslt on the host, after the declarations in hipblaslt.h (ROCm 6). It defines numbers and
// sizes independently, to reveal mistakes in assay's. Its heuristic has three solutions: 101 is
// slow, 102 needs a workspace, and 103 never applies. The C++ interface has more: 104 is the
// fastest; 105 is faster, but computes twice the product; 106 claims to apply and fails; 107 needs
// more workspace than exists; 108 does not apply.
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "libraries/failures.h"
#include "libraries/gemm.h"
#include "libraries/hooks.h"

namespace {

using mi300x::Gemm;
using mi300x::Number;

enum Status {
  success = 0,
  not_initialized = 1,
  invalid_value = 3,
  execution_failed = 5,
  not_supported = 7
};

enum Attribute {
  transpose_a = 0,
  transpose_b = 1,
  epilogue = 2,
  bias_pointer = 3,
  bias_type = 4,
  scale_a = 5,
  scale_b = 6,
  scale_d = 8,
  aux_pointer = 10,
  aux_ld = 11,
  aux_stride = 12,
  amax_d = 14,
  aux_type = 22,
  scale_mode_a = 31,  // these two are of ROCm 7
  scale_mode_b = 32
};
constexpr std::int32_t scalar_scale = 0, outer_vector_scale = 3;

constexpr std::size_t workspace_of_102 = 4096, workspace_of_107 = std::size_t{1} << 40;

mi300x::Failures& failures() {
  static mi300x::Failures all;
  return all;
}

Number number_of(int type) {  // hipDataType
  switch (type) {
    case 0:
      return Number::f32;
    case 1:
      return Number::f64;
    case 2:
      return Number::f16;
    case 3:
      return Number::i8;
    case 10:
      return Number::i32;
    case 14:
      return Number::bf16;
    case 28:
      return Number::e4m3;
    case 29:
      return Number::e5m2;
    case 1000:
      return Number::e4m3_fnuz;
    case 1001:
      return Number::e5m2_fnuz;
    default:
      return Number::unknown;
  }
}

/// An object of the library. Its destructor erases its mark, so that a later use is detected.
template <int kind>
struct Marked {
  int mark = 0x4c540000 + kind;
  Marked() = default;
  Marked(const Marked&) = delete;
  ~Marked() { *const_cast<volatile int*>(&mark) = 0; }
  bool alive() const { return mark == 0x4c540000 + kind; }
};

struct Handle : Marked<1> {};

struct Layout : Marked<2> {
  int type = -1;
  std::uint64_t rows = 0, columns = 0;
  std::int64_t ld = 0;
  std::int32_t batch = 1;
  std::int64_t stride = 0;

  mi300x::Matrix matrix(const void* data) const {
    return {number_of(type),
            const_cast<void*>(data),
            static_cast<std::int64_t>(rows),
            static_cast<std::int64_t>(columns),
            ld,
            stride};
  }
};

struct Desc : Marked<3> {
  int compute = 0, scale_type = 0;
  std::int32_t transpose_a = 111, transpose_b = 111;
  std::uint32_t epilogue = 1;
  std::int32_t bias_type = -1, aux_type = -1;
  std::int64_t aux_ld = 0, aux_stride = 0;
  std::int32_t scale_mode_a = scalar_scale, scale_mode_b = scalar_scale;
  std::map<int, void*> pointers;

  template <typename T>
  T* pointer(int attribute) const {
    const auto found = pointers.find(attribute);
    return found == pointers.end() ? nullptr : static_cast<T*>(found->second);
  }
};

struct Preference : Marked<4> {
  std::uint64_t workspace = 0;
};

template <typename Object>
Object* alive(void* object) {
  auto* it = static_cast<Object*>(object);
  return it != nullptr && it->alive() ? it : nullptr;
}

template <typename Object>
int destroy(void* object) {
  Object* it = alive<Object>(object);
  if (it == nullptr) return invalid_value;
  delete it;
  return success;
}

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

bool is_fp8(Number type) {
  return type == Number::e4m3 || type == Number::e5m2 || type == Number::e4m3_fnuz ||
         type == Number::e5m2_fnuz;
}

/// Returns whether the compute type supports these element types.
bool multiplies(int compute, Number a, Number b) {
  switch (compute) {
    case 2:  // HIPBLAS_COMPUTE_32F
      return (a == b && (a == Number::f32 || a == Number::f16 || a == Number::bf16)) ||
             (is_fp8(a) && is_fp8(b));
    case 6:  // 32F_FAST_TF32
      return a == Number::f32 && b == Number::f32;
    case 7:  // 64F
      return a == Number::f64 && b == Number::f64;
    default:  // 32I
      return a == Number::i8 && b == Number::i8;
  }
}

bool fits(const Layout& layout, bool transpose, std::uint64_t rows, std::uint64_t columns,
          std::int32_t batch) {
  const auto own_rows = static_cast<std::int64_t>(layout.rows);
  const auto least_stride = layout.ld * (static_cast<std::int64_t>(layout.columns) - 1) + own_rows;
  return (transpose ? layout.columns : layout.rows) == rows &&
         (transpose ? layout.rows : layout.columns) == columns && layout.ld >= own_rows &&
         number_of(layout.type) != Number::unknown && layout.batch == batch &&
         (batch == 1 || layout.stride >= least_stride ||
          mi300x::side_by_side(own_rows, layout.ld, layout.stride, batch));
}

bool known_epilogue(std::uint32_t number) {
  for (const std::uint32_t known : {1u, 2u, 4u, 6u, 32u, 36u, 160u, 164u, 192u, 208u, 256u, 512u}) {
    if (number == known) return true;
  }
  return false;
}

bool consistent(const Desc& desc, const Layout& a, const Layout& b, const Layout& c,
                const Layout& d) {
  const bool ta = desc.transpose_a == 112, tb = desc.transpose_b == 112;
  if ((!ta && desc.transpose_a != 111) || (!tb && desc.transpose_b != 111)) return false;
  const std::uint64_t inner = ta ? a.rows : a.columns;
  return inner > 0 && fits(a, ta, d.rows, inner, d.batch) &&
         fits(b, tb, inner, d.columns, d.batch) && fits(c, false, d.rows, d.columns, d.batch) &&
         fits(d, false, d.rows, d.columns, d.batch) && c.type == d.type &&
         multiplies(desc.compute, number_of(a.type), number_of(b.type)) &&
         desc.scale_mode_a == desc.scale_mode_b && known_epilogue(desc.epilogue);
}

/// Finds operands of the epilogue that are missing or do not fit.
bool complete(const Desc& desc, const Layout& d) {
  const bool bias = desc.epilogue & (mi300x::epilogue_bias | mi300x::epilogue_bias_gradient |
                                     mi300x::epilogue_gradient_a | mi300x::epilogue_gradient_b);
  if (bias && desc.pointer<void>(bias_pointer) == nullptr) return false;
  if (!(desc.epilogue & mi300x::epilogue_aux) && !(desc.epilogue & mi300x::epilogue_gelu_gradient))
    return true;
  return desc.pointer<void>(aux_pointer) != nullptr &&
         desc.aux_ld >= static_cast<std::int64_t>(d.rows);
}

Gemm gemm_of(const Desc& desc, const Layout& a, const Layout& b, const Layout& c, const Layout& d) {
  Gemm gemm;
  gemm.transpose_a = desc.transpose_a == 112;
  gemm.transpose_b = desc.transpose_b == 112;
  gemm.batch = d.batch;
  gemm.a = a.matrix(nullptr);
  gemm.b = b.matrix(nullptr);
  gemm.c = c.matrix(nullptr);
  gemm.d = d.matrix(nullptr);
  gemm.epilogue = desc.epilogue;
  gemm.bias = desc.pointer<void>(bias_pointer);
  gemm.bias_type = desc.bias_type < 0 ? gemm.d.type : number_of(desc.bias_type);
  gemm.aux = gemm.d;
  gemm.aux.data = desc.pointer<void>(aux_pointer);
  gemm.aux.ld = desc.aux_ld;
  gemm.aux.stride = desc.aux_stride;
  if (desc.aux_type >= 0) gemm.aux.type = number_of(desc.aux_type);
  gemm.scale_a = desc.pointer<float>(scale_a);
  gemm.scale_b = desc.pointer<float>(scale_b);
  gemm.scale_d = desc.pointer<float>(scale_d);
  gemm.scales_lines = desc.scale_mode_a == outer_vector_scale;
  gemm.amax_d = desc.pointer<float>(amax_d);
  return gemm;
}

}  // namespace

extern "C" {

void mock_hipblaslt_fail_next(const char* function, int status) {
  failures().fail_next(function, status);
}

int hipblasLtCreate(void** handle) {
  *handle = new Handle;
  return success;
}
int hipblasLtDestroy(void* handle) {
  return destroy<Handle>(handle);
}
int hipblasLtGetVersion(void* handle, int* version) {
  if (alive<Handle>(handle) == nullptr) return not_initialized;
  *version = 1203;
  return success;
}
int hipblasLtGetGitRevision(void* handle, char* revision) {
  if (alive<Handle>(handle) == nullptr) return not_initialized;
  if (const int status = failures().take("hipblasLtGetGitRevision")) return status;
  std::strcpy(revision, "dabb6df2b9");
  return success;
}

int hipblasLtMatrixLayoutCreate(void** out, int type, std::uint64_t rows, std::uint64_t columns,
                                std::int64_t ld) {
  auto* layout = new Layout;
  layout->type = type;
  layout->rows = rows;
  layout->columns = columns;
  layout->ld = ld;
  *out = layout;
  return success;
}
int hipblasLtMatrixLayoutDestroy(void* layout) {
  return destroy<Layout>(layout);
}
int hipblasLtMatrixLayoutSetAttribute(void* object, int attribute, const void* value,
                                      std::size_t bytes) {
  Layout* layout = alive<Layout>(object);
  if (layout == nullptr) return invalid_value;
  if (attribute == 0) return assign(layout->batch, value, bytes);
  if (attribute == 1) return assign(layout->stride, value, bytes);
  return invalid_value;
}

int hipblasLtMatmulDescCreate(void** out, int compute, int scale_type) {
  const bool matches = (compute == 2 && scale_type == 0) || (compute == 6 && scale_type == 0) ||
                       (compute == 7 && scale_type == 1) || (compute == 9 && scale_type == 10);
  if (!matches) return invalid_value;
  auto* desc = new Desc;
  desc->compute = compute;
  desc->scale_type = scale_type;
  *out = desc;
  return success;
}
int hipblasLtMatmulDescDestroy(void* desc) {
  return destroy<Desc>(desc);
}
int hipblasLtMatmulDescSetAttribute(void* object, int attribute, const void* value,
                                    std::size_t bytes) {
  Desc* desc = alive<Desc>(object);
  if (desc == nullptr) return invalid_value;
  switch (attribute) {
    case transpose_a:
      return assign(desc->transpose_a, value, bytes);
    case transpose_b:
      return assign(desc->transpose_b, value, bytes);
    case epilogue:
      return assign(desc->epilogue, value, bytes);
    case bias_type:
      return assign(desc->bias_type, value, bytes);
    case aux_type:
      return assign(desc->aux_type, value, bytes);
    case aux_ld:
      return assign(desc->aux_ld, value, bytes);
    case aux_stride:
      return assign(desc->aux_stride, value, bytes);
    case scale_mode_a:
    case scale_mode_b: {
      if (const int status = failures().take("hipblasLtMatmulDescSetAttribute")) return status;
      std::int32_t& mode = attribute == scale_mode_a ? desc->scale_mode_a : desc->scale_mode_b;
      if (const int status = assign(mode, value, bytes)) return status;
      return mode == scalar_scale || mode == outer_vector_scale ? success : invalid_value;
    }
    case bias_pointer:
    case scale_a:
    case scale_b:
    case scale_d:
    case aux_pointer:
    case amax_d:
      return assign(desc->pointers[attribute], value, bytes);
    default:
      return invalid_value;
  }
}

int hipblasLtMatmulPreferenceCreate(void** out) {
  *out = new Preference;
  return success;
}
int hipblasLtMatmulPreferenceDestroy(void* preference) {
  return destroy<Preference>(preference);
}
int hipblasLtMatmulPreferenceSetAttribute(void* object, int attribute, const void* value,
                                          std::size_t bytes) {
  Preference* preference = alive<Preference>(object);
  if (preference == nullptr || attribute != 1) return invalid_value;
  return assign(preference->workspace, value, bytes);
}

int hipblasLtMatmulAlgoGetHeuristic(void* handle, void* desc, void* a, void* b, void* c, void* d,
                                    void* preference, int requested, void* results, int* found) {
  *found = 0;
  if (alive<Handle>(handle) == nullptr) return not_initialized;
  if (const int status = failures().take("hipblasLtMatmulAlgoGetHeuristic")) return status;
  const Desc* operation = alive<Desc>(desc);
  const Layout *la = alive<Layout>(a), *lb = alive<Layout>(b), *lc = alive<Layout>(c),
               *ld = alive<Layout>(d);
  const Preference* limits = alive<Preference>(preference);
  if (!operation || !la || !lb || !lc || !ld || !limits || requested < 1) return invalid_value;
  if (!consistent(*operation, *la, *lb, *lc, *ld)) return invalid_value;
  for (const int index : {101, 102, 103}) {
    if (*found == requested) break;
    Result result = {};
    std::memcpy(result.algorithm.data, &index, sizeof(index));
    result.workspace = index == 102 ? workspace_of_102 : 0;
    result.state = index == 103 ? not_supported : success;
    if (result.workspace > limits->workspace) continue;
    static_cast<Result*>(results)[(*found)++] = result;
  }
  return success;
}

int hipblasLtMatmul(void* handle, void* object, const void* alpha, const void* a, void* a_layout,
                    const void* b, void* b_layout, const void* beta, const void* c, void* c_layout,
                    void* d, void* d_layout, const void* algorithm, void* workspace,
                    std::size_t workspace_bytes, void* stream) {
  if (alive<Handle>(handle) == nullptr || stream == nullptr) return not_initialized;
  if (const int status = failures().take("hipblasLtMatmul")) return status;
  const Desc* desc = alive<Desc>(object);
  const Layout *la = alive<Layout>(a_layout), *lb = alive<Layout>(b_layout),
               *lc = alive<Layout>(c_layout), *ld = alive<Layout>(d_layout);
  if (!desc || !la || !lb || !lc || !ld || !alpha || !beta || !a || !b || !c || !d || !algorithm) {
    return invalid_value;
  }
  if (!consistent(*desc, *la, *lb, *lc, *ld) || !complete(*desc, *ld)) return invalid_value;
  int solution = 0;
  std::memcpy(&solution, algorithm, sizeof(solution));
  const bool enough = workspace != nullptr && workspace_bytes >= workspace_of_102;
  if (solution == 106) return execution_failed;
  const bool ready = solution == 101 || solution == 104 || solution == 105;
  if (!ready && (solution != 102 || !enough)) return invalid_value;
  Gemm gemm = gemm_of(*desc, *la, *lb, *lc, *ld);
  gemm.a.data = const_cast<void*>(a);
  gemm.b.data = const_cast<void*>(b);
  gemm.c.data = const_cast<void*>(c);
  gemm.d.data = d;
  gemm.alpha = mi300x::load(alpha, number_of(desc->scale_type), 0);
  gemm.beta = mi300x::load(beta, number_of(desc->scale_type), 0);
  if (solution == 105) gemm.alpha *= 2;
  const double slower = solution == 101 ? 3 : solution == 104 ? 0.8 : solution == 105 ? 0.5 : 1;
  const int status = mi300x::enqueue(
      stream,
      [gemm, solution, workspace] {
        if (solution == 102) mi300x::check_write(workspace, workspace_of_102);
        gemm.run();
      },
      slower * gemm.seconds());
  return status == 0 ? success : execution_failed;
}

}  // extern "C"

// hipblaslt_ext, with the names of its types, from which those of the symbols follow.
using hipblasLtHandle_t = void*;
struct hipblasLtMatmulDescOpaque_t;
struct hipblasLtMatrixLayoutOpaque_t;
struct _hipblasLtMatmulAlgo_t : Algorithm {};
struct _hipblasLtMatmulHeuristicResult_t : Result {};
enum hipblasOperation_t : int {};
enum hipDataType : int {};
enum hipblasComputeType_t : int {};

namespace hipblaslt_ext {

enum class GemmType { HIPBLASLT_GEMM = 1, HIPBLASLT_GROUPED_GEMM = 2 };

int getAllAlgos(hipblasLtHandle_t handle, GemmType kind, hipblasOperation_t operation_a,
                hipblasOperation_t operation_b, hipDataType a, hipDataType b, hipDataType c,
                hipDataType d, hipblasComputeType_t compute,
                std::vector<_hipblasLtMatmulHeuristicResult_t>& results) {
  if (alive<Handle>(handle) == nullptr) return not_initialized;
  if (const int status = failures().take("getAllAlgos")) return status;
  const bool operations =
      (operation_a == 111 || operation_a == 112) && (operation_b == 111 || operation_b == 112);
  if (kind != GemmType::HIPBLASLT_GEMM || !operations || c != d ||
      !multiplies(compute, number_of(a), number_of(b))) {
    return invalid_value;
  }
  results.clear();
  for (const int index : {108, 102, 107, 101, 106, 104, 105, 103}) {
    _hipblasLtMatmulHeuristicResult_t result = {};
    std::memcpy(result.algorithm.data, &index, sizeof(index));
    results.push_back(result);
  }
  return success;
}

int matmulIsAlgoSupported(hipblasLtHandle_t handle, hipblasLtMatmulDescOpaque_t* desc,
                          const void* alpha, hipblasLtMatrixLayoutOpaque_t* a,
                          hipblasLtMatrixLayoutOpaque_t* b, const void* beta,
                          hipblasLtMatrixLayoutOpaque_t* c, hipblasLtMatrixLayoutOpaque_t* d,
                          _hipblasLtMatmulAlgo_t& algorithm, std::size_t& workspace) {
  if (alive<Handle>(handle) == nullptr) return not_initialized;
  if (const int status = failures().take("matmulIsAlgoSupported")) return status;
  const Desc* operation = alive<Desc>(desc);
  const Layout *la = alive<Layout>(a), *lb = alive<Layout>(b), *lc = alive<Layout>(c),
               *ld = alive<Layout>(d);
  if (!operation || !la || !lb || !lc || !ld || !alpha || !beta) return invalid_value;
  if (!consistent(*operation, *la, *lb, *lc, *ld)) return invalid_value;
  int index = 0;
  std::memcpy(&index, algorithm.data, sizeof(index));
  if (index == 103 || index == 108) return not_supported;
  workspace = index == 102 ? workspace_of_102 : index == 107 ? workspace_of_107 : 0;
  return success;
}

namespace {
int index_of(const _hipblasLtMatmulAlgo_t& algorithm) {
  int index = 0;
  std::memcpy(&index, algorithm.data, sizeof(index));
  return index;
}
}  // namespace

std::string getSolutionNameFromAlgo(hipblasLtHandle_t, _hipblasLtMatmulAlgo_t& algorithm) {
  return "Cijk_Alik_Bljk_solution_longer_than_a_short_string_" +
         std::to_string(index_of(algorithm));
}
std::string getKernelNameFromAlgo(hipblasLtHandle_t, _hipblasLtMatmulAlgo_t& algorithm) {
  return "Cijk_Alik_Bljk_kernel_" + std::to_string(index_of(algorithm));
}

}  // namespace hipblaslt_ext

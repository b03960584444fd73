// cuBLAS' cublasGemmEx: one algorithm, chosen by the library's own heuristics on each call.
#include <fmt/format.h>

#include "compute/device/vendor_libraries.h"
#include "compute/vendor/blas/cublas_api.h"
#include "compute/vendor/blas/cublas_or_rocblas_gemm_ex.h"
#include "compute/vendor/blas/lt_dialects.h"
#include "compute/vendor/blas/supported_product_types.h"

namespace assay::cublas_provider {
namespace {

struct Library {
  cublas::Functions functions;
  std::string path;
};

Result<const Library*> load() {
  static const Result<Library> loaded = []() -> Result<Library> {
    const SharedLibrary file = TRY(open_cuda_library("libcublas", "ASSAY_CUBLAS_LIBRARY"));
    Library library{{}, file.path()};
#define ASSAY_CUBLAS_BIND(member, symbol, parameters)                         \
  if (!file.bind(library.functions.member, {#symbol})) {                      \
    return Error{ErrorKind::unavailable,                                      \
                 fmt::format("{} has no function {}", file.path(), #symbol)}; \
  }
    ASSAY_CUBLAS_FUNCTIONS(ASSAY_CUBLAS_BIND)
#undef ASSAY_CUBLAS_BIND
    return library;
  }();
  if (!loaded.ok()) return loaded.error();
  return &*loaded;
}

class Cublas final : public GemmExBlas {
 public:
  Cublas(const Library& library, Device& device, void* handle)
      : GemmExBlas(device), functions_(library.functions), handle_(handle) {
    int version = 0;
    functions_.get_version(handle_, &version);
    facts_ = {"cublas", lt::cuda_version_text(static_cast<std::size_t>(version)), library.path};
  }
  ~Cublas() override { functions_.destroy(handle_); }

 protected:
  int set_stream(void* stream) override { return functions_.set_stream(handle_, stream); }
  int set_workspace(Workspace workspace) override {
    return functions_.set_workspace(handle_, workspace.data, workspace.bytes);
  }
  /// An empty workspace would leave cuBLAS none at all; setting the stream gives it its own.
  int forget_workspace(void* stream) override { return set_stream(stream); }
  int multiply(const GemmExCall& c) override {
    const auto& numbers = lt::cublaslt_dialect;
    const int left_op = c.transpose_left ? numbers.operation_transpose : numbers.operation_none;
    const int right_op = c.transpose_right ? numbers.operation_transpose : numbers.operation_none;
    const int left_type = lt::data_type(c.left_type), right_type = lt::data_type(c.right_type);
    const int d_type = lt::data_type(c.d_type);
    if (c.batch == 1) {
      return functions_.gemm(handle_, left_op, right_op, c.rows, c.columns, c.inner, c.alpha,
                             c.left, left_type, c.ld_left, c.right, right_type, c.ld_right, c.beta,
                             c.d, d_type, c.ld_d, lt::compute_number(numbers, c.compute),
                             cublas::default_algorithm);
    }
    return functions_.gemm_batched(handle_, left_op, right_op, c.rows, c.columns, c.inner, c.alpha,
                                   c.left, left_type, c.ld_left, c.stride_left, c.right, right_type,
                                   c.ld_right, c.stride_right, c.beta, c.d, d_type, c.ld_d,
                                   c.stride_d, c.batch, lt::compute_number(numbers, c.compute),
                                   cublas::default_algorithm);
  }
  std::string_view status_name(int status) const override {
    return lt::cublaslt_status_name(status);
  }
  ErrorKind kind_of(int status) const override {
    return lt::kind_of_status(lt::cublaslt_dialect, status);
  }
  bool works_in_place() const override { return true; }
  std::size_t wanted_workspace() const override { return std::size_t{32} << 20; }

 private:
  const cublas::Functions& functions_;
  void* handle_;
};

std::optional<std::string> unsupported(const GemmProblem& problem, const DeviceFacts& facts) {
  if (const auto reason = cuda_lacks_types(problem, facts)) return reason;
  return beyond_gemm_ex(problem);
}

Result<std::unique_ptr<Blas>> open(Device& device) {
  const Library* library = TRY(load());
  TRY(device.make_current());
  void* handle = nullptr;
  if (const int status = library->functions.create(&handle)) {
    return Error{
        lt::kind_of_status(lt::cublaslt_dialect, status),
        fmt::format("cublas: cublasCreate: {} ({})", lt::cublaslt_status_name(status), status)};
  }
  return std::unique_ptr<Blas>(std::make_unique<Cublas>(*library, device, handle));
}

const BlasRegistry::Add registered{{"cublas", "cuda", 1, &unsupported, &open}};

}  // namespace
}  // namespace assay::cublas_provider

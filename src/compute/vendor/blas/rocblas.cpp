// rocBLAS: supports problems that hipBLASLt lacks, and is sometimes faster; its solutions can be
// listed.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>

#include "compute/device/vendor_libraries.h"
#include "compute/vendor/blas/cublas_or_rocblas_gemm_ex.h"
#include "compute/vendor/blas/rocblas_api.h"
#include "compute/vendor/blas/supported_product_types.h"

namespace assay::rocblas_provider {
namespace {

struct Library {
  rocblas::Functions functions;
  std::string path;
};

Result<const Library*> load() {
  static const Result<Library> loaded = []() -> Result<Library> {
    const SharedLibrary file = TRY(open_rocm_library("librocblas", "ASSAY_ROCBLAS_LIBRARY"));
    Library library{{}, file.path()};
#define ASSAY_ROCBLAS_BIND(member, symbol, parameters)                        \
  if (!file.bind(library.functions.member, {#symbol})) {                      \
    return Error{ErrorKind::unavailable,                                      \
                 fmt::format("{} has no function {}", file.path(), #symbol)}; \
  }
#define ASSAY_ROCBLAS_BIND_OPTIONAL(member, symbol, parameters) \
  file.bind(library.functions.member, {#symbol});
    ASSAY_ROCBLAS_FUNCTIONS(ASSAY_ROCBLAS_BIND)
    ASSAY_ROCBLAS_OPTIONAL_FUNCTIONS(ASSAY_ROCBLAS_BIND_OPTIONAL)
#undef ASSAY_ROCBLAS_BIND
#undef ASSAY_ROCBLAS_BIND_OPTIONAL
    return library;
  }();
  if (!loaded.ok()) return loaded.error();
  return &*loaded;
}

class Rocblas final : public GemmExBlas {
 public:
  Rocblas(const Library& library, Device& device, void* handle)
      : GemmExBlas(device), functions_(library.functions), handle_(handle) {
    std::array<char, 256> text = {};
    const int status = functions_.get_version(text.data(), text.size());
    facts_ = {"rocblas", status == 0 ? text.data() : "unknown", library.path};
  }
  ~Rocblas() override { functions_.destroy(handle_); }

 protected:
  int set_stream(void* stream) override { return functions_.set_stream(handle_, stream); }
  int set_workspace(Workspace workspace) override {
    return functions_.set_workspace(handle_, workspace.data, workspace.bytes);
  }
  /// Setting the stream would not do: rocBLAS keeps the workspace.
  int forget_workspace(void*) override { return functions_.set_workspace(handle_, nullptr, 0); }
  int multiply(const GemmExCall& call) override {
    const int algorithm =
        call.solution == 0 ? rocblas::algorithm_standard : rocblas::algorithm_solution_index;
    if (call.batch == 1) return invoke(functions_.gemm, call, algorithm, call.solution, 0u);
    return invoke_batched(functions_.gemm_batched, call, algorithm, call.solution, 0u);
  }
  std::string_view status_name(int status) const override { return rocblas::status_name(status); }
  ErrorKind kind_of(int status) const override { return rocblas::kind_of_status(status); }
  std::size_t wanted_workspace() const override { return std::size_t{32} << 20; }

  Result<std::vector<int>> solutions(const GemmExCall& call) override {
    std::vector<std::int32_t> list;
    const bool offered =
        call.batch == 1 ? functions_.solutions != nullptr : functions_.solutions_batched != nullptr;
    if (!offered) return list;
    std::int32_t size = 0;
    TRY(check(query(call, nullptr, &size), "gemm_ex_get_solutions"));
    if (size <= 0) return list;
    list.resize(static_cast<std::size_t>(size));
    TRY(check(query(call, list.data(), &size), "gemm_ex_get_solutions"));
    // The library writes at most this many, whatever size it reports.
    list.resize(std::min(list.size(), static_cast<std::size_t>(std::max(size, 0))));
    return list;
  }

 private:
  int query(const GemmExCall& call, std::int32_t* list, std::int32_t* size) {
    constexpr int by_index = rocblas::algorithm_solution_index;
    if (call.batch == 1) {
      return invoke(functions_.solutions, call, by_index, 0u, list, size);
    }
    return invoke_batched(functions_.solutions_batched, call, by_index, 0u, list, size);
  }

  static int operation(bool transpose) {
    return transpose ? rocblas::operation_transpose : rocblas::operation_none;
  }

  template <typename Function, typename... Rest>
  int invoke(Function* function, const GemmExCall& c, int algorithm, Rest... rest) {
    using rocblas::data_type;
    return function(handle_, operation(c.transpose_left), operation(c.transpose_right), c.rows,
                    c.columns, c.inner, c.alpha, c.left, data_type(c.left_type), c.ld_left, c.right,
                    data_type(c.right_type), c.ld_right, c.beta, c.c, data_type(c.c_type), c.ld_d,
                    c.d, data_type(c.d_type), c.ld_d, data_type(c.compute), algorithm, rest...);
  }
  template <typename Function, typename... Rest>
  int invoke_batched(Function* function, const GemmExCall& c, int algorithm, Rest... rest) {
    using rocblas::data_type;
    return function(handle_, operation(c.transpose_left), operation(c.transpose_right), c.rows,
                    c.columns, c.inner, c.alpha, c.left, data_type(c.left_type), c.ld_left,
                    c.stride_left, c.right, data_type(c.right_type), c.ld_right, c.stride_right,
                    c.beta, c.c, data_type(c.c_type), c.ld_d, c.stride_d, c.d, data_type(c.d_type),
                    c.ld_d, c.stride_d, c.batch, data_type(c.compute), algorithm, rest...);
  }

  const rocblas::Functions& functions_;
  void* handle_;
};

/// Returns whether the library has kernels for the device; rocBLAS ends the process if it has none,
/// so their files are looked for first. Also true if it stores them in an unknown way.
bool has_kernels(const std::string& library_path, const std::string& arch) {
  namespace fs = std::filesystem;
  if (std::getenv("ROCBLAS_TENSILE_LIBPATH") != nullptr) return true;
  std::error_code failed;
  const fs::path folder = fs::path(library_path).parent_path() / "rocblas" / "library";
  const std::string processor = arch.substr(0, arch.find(':'));
  bool any = false;
  for (fs::directory_iterator file(folder, failed), end; !failed && file != end;
       file.increment(failed)) {
    const std::string name = file->path().filename();
    if (name.find(processor) != std::string::npos) return true;
    any = any || name.find("gfx") != std::string::npos;
  }
  return !any;
}

std::optional<std::string> unsupported(const GemmProblem& problem, const DeviceFacts& facts) {
  if (const auto reason = beyond_gemm_ex(problem)) return reason;
  if (problem.compute == DataType::tf32) return "only hipblaslt supports tf32";
  return rocm_lacks_types(problem, facts);
}

Result<std::unique_ptr<Blas>> open(Device& device) {
  const Library* library = TRY(load());
  if (!has_kernels(library->path, device.facts().arch)) {
    return Error{ErrorKind::unavailable,
                 fmt::format("{} has no kernels for {}: install the rocBLAS package for it",
                             library->path, device.facts().arch)};
  }
  TRY(device.make_current());
  void* handle = nullptr;
  if (const int status = library->functions.create(&handle)) {
    return Error{rocblas::kind_of_status(status),
                 fmt::format("rocblas: rocblas_create_handle: {} ({})",
                             rocblas::status_name(status), status)};
  }
  return std::unique_ptr<Blas>(std::make_unique<Rocblas>(*library, device, handle));
}

const BlasRegistry::Add registered{{"rocblas", "hip", 1, &unsupported, &open}};

}  // namespace
}  // namespace assay::rocblas_provider

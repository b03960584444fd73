// cuBLASLt: the first choice on NVIDIA devices, and the only library with fp8 there.
#include <fmt/format.h>

#include "compute/device/matrix_unit_types.h"
#include "compute/device/vendor_libraries.h"
#include "compute/vendor/blas/cublaslt_or_hipblaslt.h"
#include "compute/vendor/blas/cublaslt_variations.h"
#include "compute/vendor/blas/lt_dialects.h"
#include "compute/vendor/blas/supported_product_types.h"

namespace assay::lt::cublaslt_provider {
namespace {

AlgorithmFunctions algorithm_functions;  // written once, by load()

std::string name_algorithm(const Library&, const void* algorithm) {
  return describe_algorithm(algorithm_functions, algorithm);
}

std::vector<GemmAlgorithm> find_neighbours(Handle handle, const Descriptors& descriptors,
                                           const std::vector<GemmAlgorithm>& listed,
                                           std::size_t workspace_bytes, std::size_t most) {
  return neighbours(algorithm_functions, handle, descriptors, listed, workspace_bytes, most);
}

Result<std::vector<GemmAlgorithm>> find_all(const Library& library, Handle handle,
                                            const Descriptors& descriptors,
                                            const GemmProblem& problem,
                                            const std::vector<GemmAlgorithm>& listed,
                                            std::size_t workspace_bytes, std::size_t most) {
  return all_variations(algorithm_functions, library, handle, descriptors, problem, listed,
                        workspace_bytes, most);
}

std::string version(const Library& library, Handle) {
  const auto get = reinterpret_cast<std::size_t (*)()>(library.get_version);
  return get != nullptr ? cuda_version_text(get()) : "unknown";
}

Result<const Library*> load() {
  static const Result<Library> loaded = []() -> Result<Library> {
    const SharedLibrary file = TRY(open_cuda_library("libcublasLt", "ASSAY_CUBLASLT_LIBRARY"));
    Library library{cublaslt_dialect, TRY(bind_functions(file, "cublasLt")), file.path(), &version,
                    &name_algorithm};
    library.get_version = file.symbol("cublasLtGetVersion");
    library.neighbours = &find_neighbours;
    library.all = &find_all;
    algorithm_functions = bind_algorithm_functions(file);
    return library;
  }();
  if (!loaded.ok()) return loaded.error();
  return &*loaded;
}

std::optional<std::string> unsupported(const GemmProblem& problem, const DeviceFacts& facts) {
  if (const auto reason = cuda_lacks_types(problem, facts)) return reason;
  // 13.1 does not refuse other types, and computes nonsense.
  if (problem.compute == DataType::tf32 && problem.d != DataType::f32) {
    return fmt::format("products of tf32 give f32, not {}", name_of(problem.d));
  }
  if (!is_fp8(problem.a) && !is_fp8(problem.b)) return std::nullopt;
  if (problem.a == DataType::e5m2 && problem.b == DataType::e5m2) {
    return "e5m2 * e5m2 does not exist; one operand must be e4m3";
  }
  // Before Blackwell, the hardware reads fp8 in this layout only.
  if (compute_capability(facts) < 100 && layout_of(problem) != "TN") {
    return fmt::format("fp8 needs both operands contiguous along k on {}: use layout TN",
                       facts.arch);
  }
  if (problem.n % 16 != 0 || problem.k % 16 != 0 || problem.lda % 16 != 0 ||
      problem.ldb % 16 != 0 || problem.ldd % 16 != 0) {
    return "fp8 needs n, k and the leading dimensions to be multiples of 16";
  }
  return std::nullopt;
}

Result<std::unique_ptr<Blas>> open(Device& device) {
  const Library* library = TRY(load());
  return open_lt(*library, device);
}

const BlasRegistry::Add registered{{"cublaslt", "cuda", 0, &unsupported, &open}};

}  // namespace
}  // namespace assay::lt::cublaslt_provider

// hipBLASLt: the first choice on AMD Instinct, with fp8 and fused epilogues.
#include <fmt/format.h>

#include "compute/device/vendor_libraries.h"
#include "compute/vendor/blas/cublaslt_or_hipblaslt.h"
#include "compute/vendor/blas/hipblaslt_solutions.h"
#include "compute/vendor/blas/lt_dialects.h"
#include "compute/vendor/blas/supported_product_types.h"

namespace assay::lt::hipblaslt_provider {
namespace {

using GetVersion = int (*)(Handle, int* version);

/// major * 100000 + minor * 100 + patch; 0 if unknown.
int version_number(const Library& library, Handle handle) {
  const auto get = reinterpret_cast<GetVersion>(library.get_version);
  int number = 0;
  if (get == nullptr || get(handle, &number) != 0) return 0;
  return number;
}

std::string version(const Library& library, Handle handle) {
  const int number = version_number(library, handle);
  if (number == 0) return "unknown";
  return fmt::format("{}.{}.{}", number / 100000, number / 100 % 1000, number % 100);
}

SolutionFunctions solution_functions;  // written once, by load()

std::string describe_algorithm(const Library&, const void* algorithm) {
  return solution_text(solution_index(algorithm));
}

std::optional<std::int64_t> index_of(const void* algorithm) {
  return solution_index(algorithm);
}

std::string revision(const Library&, Handle handle) {
  return solution_functions.revision(handle);
}

Result<std::vector<GemmAlgorithm>> all(const Library& library, Handle handle,
                                       const Descriptors& descriptors, const GemmProblem& problem,
                                       const std::vector<GemmAlgorithm>& listed,
                                       std::size_t workspace_bytes, std::size_t most) {
  return all_solutions(library, solution_functions, handle, descriptors, problem, listed,
                       workspace_bytes, most);
}

Result<const Library*> load() {
  static const Result<Library> loaded = []() -> Result<Library> {
    const SharedLibrary file = TRY(open_rocm_library("libhipblaslt", "ASSAY_HIPBLASLT_LIBRARY"));
    Library library{hipblaslt_dialect, TRY(bind_functions(file, "hipblasLt")), file.path(),
                    &version, &describe_algorithm};
    library.get_version = file.symbol("hipblasLtGetVersion");
    solution_functions = bind_solution_functions(file);
    library.all = &all;
    library.index_of = &index_of;
    library.revision = &revision;
    library.number = &version_number;
    return library;
  }();
  if (!loaded.ok()) return loaded.error();
  return &*loaded;
}

std::optional<std::string> unsupported(const GemmProblem& problem, const DeviceFacts& facts) {
  if (auto reason = needs_all_multiprocessors(problem)) return reason;
  return rocm_lacks_types(problem, facts);
}

Result<std::unique_ptr<Blas>> open(Device& device) {
  const Library* library = TRY(load());
  std::unique_ptr<Blas> blas = TRY(open_lt(*library, device));
  // ROCm 5's hipBLASLt 0.3 has the soname of ROCm 6's, but different numbers for the same enums.
  if (blas->facts().version.rfind("0.3.", 0) == 0) {
    return Error{ErrorKind::unavailable,
                 fmt::format("{} is hipBLASLt {}, of ROCm 5; assay needs ROCm 6 or later",
                             library->path, blas->facts().version)};
  }
  return blas;
}

const BlasRegistry::Add registered{{"hipblaslt", "hip", 0, &unsupported, &open}};

}  // namespace
}  // namespace assay::lt::hipblaslt_provider

// Finds cuBLASLt algorithms beyond those of its heuristic, by changing one setting of the
// heuristic's choices or by trying settings of every kind of algorithm.
#pragma once

#include <vector>

#include "compute/vendor/blas/blas.h"
#include "compute/vendor/blas/cublaslt_or_hipblaslt.h"
#include "core/shared_library.h"

namespace assay::lt {

class Descriptors;

/// The functions that read, change and check an algorithm's settings; null if missing. They are
/// those of cublasLt.h and return its status, 0 for success. An algorithm is GemmAlgorithm::data.
struct AlgorithmFunctions {
  int (*get_config)(const void* algorithm, int attribute, void* value, std::size_t bytes,
                    std::size_t* written) = nullptr;
  int (*set_config)(void* algorithm, int attribute, const void* value, std::size_t bytes) = nullptr;
  int (*get_capability)(const void* algorithm, int attribute, void* value, std::size_t bytes,
                        std::size_t* written) = nullptr;
  int (*check)(Handle, MatmulDesc, MatrixLayout a, MatrixLayout b, MatrixLayout c, MatrixLayout d,
               const void* algorithm, void* result) = nullptr;
  int (*get_ids)(Handle, int compute, int scale_type, int type_a, int type_b, int type_c,
                 int type_d, int requested, int* ids, int* found) = nullptr;
  int (*init)(Handle, int compute, int scale_type, int type_a, int type_b, int type_c, int type_d,
              int id, void* algorithm) = nullptr;
};
AlgorithmFunctions bind_algorithm_functions(const SharedLibrary& library);

/// Returns the settings that cuBLASLt exposes, by its own numbers: "algo=66 tile=24 stages=35
/// cluster=5 ...". The text is empty without get_config.
std::string describe_algorithm(const AlgorithmFunctions& functions, const void* algorithm);

/// Varies each of the first three `listed` algorithms in its custom option, order of blocks
/// ("swizzle"), cluster shape or tile, one at a time and in this order. Returns at most `most` that
/// the library says can run within `workspace_bytes`, none of them in `listed`; none at all without
/// set_config, get_capability or check. Nothing is timed.
std::vector<GemmAlgorithm> neighbours(const AlgorithmFunctions& functions, Handle handle,
                                      const Descriptors& descriptors,
                                      const std::vector<GemmAlgorithm>& listed,
                                      std::size_t workspace_bytes, std::size_t most);

/// Returns further algorithms: as neighbours(), but for the first 16 of `listed`, and then every
/// algorithm id with every tile, every number of stages and k split into 1, 2, 4 and 8. The ids are
/// left out without get_ids or init. At most `most` are returned, none of them in `listed`; the
/// search ends after 30,000 candidates, which take seconds. Error: as status_error()
/// (lt_descriptors.h) if the library cannot list its ids.
Result<std::vector<GemmAlgorithm>> all_variations(const AlgorithmFunctions& functions,
                                                  const Library& library, Handle handle,
                                                  const Descriptors& descriptors,
                                                  const GemmProblem& problem,
                                                  const std::vector<GemmAlgorithm>& listed,
                                                  std::size_t workspace_bytes, std::size_t most);

}  // namespace assay::lt

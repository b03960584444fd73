// cuBLASLt and hipBLASLt: one implementation with a function table and the enum numbers of each.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compute/vendor/blas/blas.h"
#include "compute/vendor/blas/lt_api.h"
#include "core/shared_library.h"

namespace assay::lt {

class Descriptors;

/// A loaded library; lives as long as the process.
struct Library {
  const Dialect& dialect;
  Functions functions;
  std::string path;
  std::string (*version)(const Library& library, Handle handle);
  /// Returns an algorithm's name, made from its bytes, for records.
  std::string (*describe_algorithm)(const Library& library, const void* algorithm);
  void* get_version = nullptr;  ///< the library's version function; its type differs
  /// Returns at most `most` further algorithms similar to `listed`; null if the heuristic already
  /// lists all.
  std::vector<GemmAlgorithm> (*neighbours)(Handle handle, const Descriptors& descriptors,
                                           const std::vector<GemmAlgorithm>& listed,
                                           std::size_t workspace_bytes, std::size_t most) = nullptr;
  /// Returns every algorithm that can run, in any order, possibly including those in `listed`. Null
  /// if the heuristic already lists all.
  Result<std::vector<GemmAlgorithm>> (*all)(const Library& library, Handle handle,
                                            const Descriptors& descriptors,
                                            const GemmProblem& problem,
                                            const std::vector<GemmAlgorithm>& listed,
                                            std::size_t workspace_bytes,
                                            std::size_t most) = nullptr;
  /// Return the library's number of an algorithm, its revision and its version; null if it has
  /// none.
  std::optional<std::int64_t> (*index_of)(const void* algorithm) = nullptr;
  std::string (*revision)(const Library& library, Handle handle) = nullptr;
  int (*number)(const Library& library, Handle handle) = nullptr;
};

/// Binds every function of ASSAY_LT_FUNCTIONS as `prefix` + symbol. Error: unavailable, naming the
/// first that is missing.
Result<Functions> bind_functions(const SharedLibrary& library, std::string_view prefix);

/// Creates the library's handle on `device`. `library` must outlive the result. Error: failed with
/// the library's status.
Result<std::unique_ptr<Blas>> open_lt(const Library& library, Device& device);

}  // namespace assay::lt

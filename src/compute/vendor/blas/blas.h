// Matrix products (GEMMs) through a vendor's library. A library is opened per device and proposes
// algorithms for a problem. A plan binds one algorithm and can be enqueued on streams any number of
// times, with different operands each time. Everything slow (descriptors, heuristics, reordering)
// happens before enqueue().
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compute/device/queued_operation.h"
#include "compute/vendor/blas/gemm_problem.h"
#include "core/registry.h"
#include "core/result.h"

namespace assay {

/// Device addresses for one enqueue. Operands that the problem does not use stay null.
struct GemmOperands {
  const void* a = nullptr;
  const void* b = nullptr;
  const void* c = nullptr;  ///< read only if beta is not 0; may equal d
  void* d = nullptr;
  void* bias = nullptr;  ///< read by bias epilogues, written by bgrad ones
  void* aux = nullptr;   ///< written by gelu_aux epilogues, read by dgelu ones
  /// Factors that convert stored fp8 values to real ones, one each. With GemmProblem::scales_lines,
  /// scale_a has m and scale_b has n of them.
  const float* scale_a = nullptr;
  const float* scale_b = nullptr;
  const float* scale_d = nullptr;
  float* amax_d = nullptr;  ///< receives the largest magnitude of D before scale_d
};

/// Scratch memory on the device, at least as large as the algorithm requires. Plans on the same
/// stream can share one workspace.
struct Workspace {
  void* data = nullptr;
  std::size_t bytes = 0;
};

/// One algorithm of a library for a problem. It is a plain value that can be stored and reused for
/// the same problem, library version and device.
struct GemmAlgorithm {
  std::string name;  ///< "algo=66 tile=20 stages=35", "solution=1234", "packed"
  std::size_t workspace_bytes = 0;
  std::array<std::uint64_t, 8> data = {};  ///< the library's own encoding
  /// The library's number of the algorithm, under which tuning files name it. It is valid for one
  /// release on one architecture; not every library has such numbers.
  std::optional<std::int64_t> index = {};
  /// The library's names of the solution and its kernel; only all_algorithms() fills them in.
  std::string solution = {}, kernel = {};
};

/// Returns the product as recorders of timelines see it.
QueuedOperation queued_product(const GemmProblem& problem);

/// A problem bound to an algorithm. May be used from one thread at a time, and must be destroyed
/// before the Blas that made it.
class GemmPlan {
 public:
  explicit GemmPlan(const GemmProblem& problem) : problem_(problem) {}
  virtual ~GemmPlan() = default;

  /// For algorithms that keep B in a private layout (GemmProblem::constant_b): copies B into it.
  /// Call this for each B before its first use, and whenever its contents have changed.
  virtual Status pack(Stream&, const void* /*b*/) { return {}; }
  /// Error: failed with the library's status, or if the workspace is too small; unsupported if the
  /// library cannot take these operands (e.g. c != d where it works in place).
  Status enqueue(Stream& stream, const GemmOperands& operands, Workspace workspace) {
    return queue_operation(
        stream, [&] { return queued_product(problem_); },
        [&] { return queue(stream, operands, workspace); });
  }

 protected:
  virtual Status queue(Stream& stream, const GemmOperands& operands, Workspace workspace) = 0;

  GemmProblem problem_;
};

struct BlasFacts {
  std::string name;           ///< "cublaslt"
  std::string version;        ///< "13.1.0", as the library itself reports it
  std::string path;           ///< the file it was loaded from
  std::string revision = {};  ///< the revision of its sources; empty: it reports none
  int number = 0;             ///< the version as the library itself encodes it; 0: unknown
};

/// One vendor library on one device. Must be destroyed before the device. Thread-safe, except that
/// a plan must be used by one thread at a time.
class Blas {
 public:
  virtual ~Blas() = default;
  virtual const BlasFacts& facts() const = 0;
  /// Returns at most `most` algorithms that need at most `workspace_bytes`, the library's own first
  /// choice first. Error: as validate(); unsupported if there is none; failed with the library's
  /// status.
  virtual Result<std::vector<GemmAlgorithm>> algorithms(const GemmProblem& problem,
                                                        std::size_t workspace_bytes, int most) = 0;
  /// Returns at most `most` of all algorithms that the library has for `problem` within
  /// `workspace_bytes`; those of algorithms() come first. May take seconds. Error: as algorithms(),
  /// or that of a listing call.
  virtual Result<std::vector<GemmAlgorithm>> all_algorithms(const GemmProblem& problem,
                                                            std::size_t workspace_bytes, int most) {
    return algorithms(problem, workspace_bytes, most);
  }
  /// Binds an algorithm that was proposed for the same problem. Error: as algorithms().
  virtual Result<std::unique_ptr<GemmPlan>> plan(const GemmProblem& problem,
                                                 const GemmAlgorithm& algorithm) = 0;
  /// Announces that other kernels, which need the same cores, run between the products from now on.
  /// This matters only to libraries that have their own threads.
  virtual void expect_kernels_between() {}
};

/// Returns the reason why a library without support for GemmProblem::multiprocessors refuses a
/// problem that sets it.
inline std::optional<std::string> needs_all_multiprocessors(const GemmProblem& problem) {
  if (problem.multiprocessors == 0) return std::nullopt;
  return "it uses all multiprocessors; only cublaslt can leave some free";
}

/// How a library registers itself; each is one file in this folder.
struct BlasProvider {
  std::string_view name;     ///< "hipblaslt"
  std::string_view backend;  ///< "hip": devices it works on
  int preference;            ///< the lowest value of a backend is the first choice
  /// Returns why the library cannot compute the problem on such a device, without loading the
  /// library.
  std::optional<std::string> (*unsupported)(const GemmProblem& problem, const DeviceFacts& facts);
  /// Error: unavailable, naming what was looked for, where, and what to install; failed with the
  /// library's status.
  Result<std::unique_ptr<Blas>> (*open)(Device& device);
  bool by_name_only = false;  ///< not chosen by "auto"

  /// Returns whether a user's choice, a name or "auto", allows this library.
  bool allowed_by(std::string_view choice) const {
    return choice == name || (choice == "auto" && !by_name_only);
  }
};
using BlasRegistry = Registry<BlasProvider>;

/// Returns the libraries for a backend, first choice first.
std::vector<BlasProvider> blas_providers(std::string_view backend);
/// Returns every library's name, sorted; for axes and messages.
std::vector<std::string> blas_names();

/// Opens the library named by `choice`, or with "auto" the first library of the device's backend
/// that can be opened and supports `problem`. Error: unavailable if a library that supports the
/// problem is not installed, else unsupported; both with all reasons.
Result<std::unique_ptr<Blas>> open_blas(Device& device, std::string_view choice,
                                        const GemmProblem& problem);

}  // namespace assay

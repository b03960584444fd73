// Matrix products through a vendor's library. A library is opened per device. It proposes
// algorithms for a problem; a plan with one algorithm can be enqueued on streams any number of
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

#include "compute/device/device.h"
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
  void* bias = nullptr;            ///< read by bias epilogues, written by bgrad ones
  void* aux = nullptr;             ///< written by *_aux epilogues, read by dgelu ones
  const float* scale_a = nullptr;  ///< factors that convert stored fp8 values to real ones
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

/// One way in which a library can compute a problem. A plain value that can be stored and reused
/// for the same problem, library version and device.
struct GemmAlgorithm {
  std::string name;  ///< "algo=66 tile=20 stages=35", "solution=1234", "packed"
  std::size_t workspace_bytes = 0;
  std::array<std::uint64_t, 8> data = {};  ///< the library's own encoding
  /// The library's number for it, under which tuning files name it; not every library has one, and
  /// it holds for one release on one architecture.
  std::optional<std::int64_t> index = {};
  /// What the library calls the solution and its kernel; only all_algorithms() asks for them.
  std::string solution = {}, kernel = {};
};

/// A problem bound to an algorithm. May be used from one thread at a time.
class GemmPlan {
 public:
  virtual ~GemmPlan() = default;

  /// For algorithms that keep B in a layout of their own (GemmProblem::constant_b): copies it. Call
  /// once for each B before its use, and again whenever its contents have changed.
  virtual Status pack(Stream&, const void* /*b*/) { return {}; }
  /// Error: failed with the library's status; unsupported if these operands are impossible (e.g. c
  /// != d where the library works in place).
  virtual Status enqueue(Stream& stream, const GemmOperands& operands, Workspace workspace) = 0;
};

struct BlasFacts {
  std::string name;           ///< "cublaslt"
  std::string version;        ///< "13.1.0", as the library itself reports it
  std::string path;           ///< the file it was loaded from
  std::string revision = {};  ///< of the library's sources, as it reports it; empty: it does not
  int number = 0;             ///< the version as the library itself encodes it; 0: unknown
};

/// One vendor library on one device. Must be destroyed before the device. Thread-safe, except that
/// a plan must be used by one thread at a time.
class Blas {
 public:
  virtual ~Blas() = default;
  virtual const BlasFacts& facts() const = 0;
  /// At most `most` algorithms that need at most `workspace_bytes`, the library's own first choice
  /// first. Error: unsupported if there is none.
  virtual Result<std::vector<GemmAlgorithm>> algorithms(const GemmProblem& problem,
                                                        std::size_t workspace_bytes, int most) = 0;
  /// Everything that the library has for `problem` within `workspace_bytes`, at most `most`, what
  /// algorithms() lists first. May take seconds. Error: as algorithms(), or of a call that lists.
  virtual Result<std::vector<GemmAlgorithm>> all_algorithms(const GemmProblem& problem,
                                                            std::size_t workspace_bytes, int most) {
    return algorithms(problem, workspace_bytes, most);
  }
  virtual Result<std::unique_ptr<GemmPlan>> plan(const GemmProblem& problem,
                                                 const GemmAlgorithm& algorithm) = 0;
  /// From now on products are parts of computations whose other kernels need the same cores. Of
  /// concern to libraries with threads of their own.
  virtual void expect_kernels_between() {}
};

/// The reason why a library without support for GemmProblem::multiprocessors refuses a problem that
/// sets it.
inline std::optional<std::string> needs_all_multiprocessors(const GemmProblem& problem) {
  if (problem.multiprocessors == 0) return std::nullopt;
  return "it uses all multiprocessors; only cublaslt can leave some free";
}

/// How a library registers itself; each is one file in this folder.
struct BlasProvider {
  std::string_view name;     ///< "hipblaslt"
  std::string_view backend;  ///< "hip": devices it works on
  int preference;            ///< the lowest value of a backend is the first choice
  /// Why the library cannot compute the problem on such a device, without loading it.
  std::optional<std::string> (*unsupported)(const GemmProblem& problem, const DeviceFacts& facts);
  /// Error: unavailable, naming what was looked for, where, and what to install.
  Result<std::unique_ptr<Blas>> (*open)(Device& device);
  bool by_name_only = false;  ///< not chosen by "auto"

  /// Whether a user's choice, a name or "auto", allows this library.
  bool allowed_by(std::string_view choice) const {
    return choice == name || (choice == "auto" && !by_name_only);
  }
};
using BlasRegistry = Registry<BlasProvider>;

/// The libraries for a backend, first choice first.
std::vector<BlasProvider> blas_providers(std::string_view backend);
/// Every library's name, sorted; for axes and messages.
std::vector<std::string> blas_names();

/// The library named by `choice`, or with "auto" the first library of the device's backend that can
/// be opened and supports `problem`. Error: unsupported or unavailable, with all reasons.
Result<std::unique_ptr<Blas>> open_blas(Device& device, std::string_view choice,
                                        const GemmProblem& problem);

}  // namespace assay

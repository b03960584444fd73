// The common part of cublasGemmEx and rocblas_gemm_ex: a single call with all parameters, on a
// handle that holds the stream and the workspace.
#pragma once

#include <string>

#include "compute/vendor/blas/blas.h"
#include "compute/vendor/blas/lt_descriptors.h"
#include "core/mutex.h"

namespace assay {

/// The column-major call for a row-major problem: `left` is our B, `right` our A, and rows and
/// columns of the result are swapped (see lt_descriptors.h).
struct GemmExCall {
  bool transpose_left = false, transpose_right = false;
  int rows = 0, columns = 0, inner = 0, batch = 1;
  DataType left_type{}, right_type{}, c_type{}, d_type{}, compute{};
  const void* alpha = nullptr;
  const void* beta = nullptr;
  const void* left = nullptr;
  const void* right = nullptr;
  const void* c = nullptr;
  void* d = nullptr;
  int ld_left = 0, ld_right = 0, ld_d = 0;
  std::int64_t stride_left = 0, stride_right = 0, stride_d = 0;
  int solution = 0;  ///< from GemmAlgorithm::data[0]
};

/// Returns why a gemm_ex call cannot express the problem (an epilogue, scales, fp8, C and D of
/// different types, a limit on multiprocessors, extents of 2^31 or more); empty if it can.
std::optional<std::string> beyond_gemm_ex(const GemmProblem& problem);

/// One vendor's gemm_ex. A handle has one stream and one workspace at a time, so each call sets
/// both.
class GemmExBlas : public Blas {
 public:
  explicit GemmExBlas(Device& device) : device_(device) {}

  const BlasFacts& facts() const override { return facts_; }
  Result<std::vector<GemmAlgorithm>> algorithms(const GemmProblem& problem,
                                                std::size_t workspace_bytes, int most) override;
  Result<std::vector<GemmAlgorithm>> all_algorithms(const GemmProblem& problem,
                                                    std::size_t workspace_bytes, int most) override;
  Result<std::unique_ptr<GemmPlan>> plan(const GemmProblem& problem,
                                         const GemmAlgorithm& algorithm) override;

  /// Sets stream and workspace and makes the call. Without a workspace the library uses its own,
  /// never that of an earlier call, whose memory may be gone. Error: unsupported if the library
  /// works in place and C is not D, or if it cannot compute this; exhausted if it has no memory;
  /// otherwise failed with its status.
  Status run(void* stream, Workspace workspace, const GemmExCall& call);

  /// Returns the call without operands; `alpha` and `beta` must outlive it.
  static GemmExCall call_for(const GemmProblem& problem, const Scalar& alpha, const Scalar& beta);
  Device& device() { return device_; }

 protected:
  /// The setters and calls return the library's status; 0 is success.
  virtual int set_stream(void* stream) = 0;
  virtual int set_workspace(Workspace workspace) = 0;
  /// Makes the library use its own workspace again. `stream` is the one that is set.
  virtual int forget_workspace(void* stream) = 0;
  virtual int multiply(const GemmExCall& call) = 0;
  virtual std::string_view status_name(int status) const = 0;
  /// Returns the kind of error of a call that failed with this status.
  virtual ErrorKind kind_of(int status) const = 0;
  /// Returns the solutions other than the default, in no particular order; empty if the library
  /// offers no choice. Error: that of the calls that list them.
  virtual Result<std::vector<int>> solutions(const GemmExCall&) { return std::vector<int>(); }
  /// Returns whether C and D must be the same matrix.
  virtual bool works_in_place() const { return false; }
  /// Returns how much scratch memory the library can use; it works with less too.
  virtual std::size_t wanted_workspace() const = 0;

  Status check(int status, std::string_view what) const;
  /// Returns the default algorithm, then those of the solutions `listed`, at most `most` in all.
  Result<std::vector<GemmAlgorithm>> list(const GemmProblem& problem, std::size_t workspace_bytes,
                                          const std::vector<int>& listed, int most) const;

  BlasFacts facts_;

 private:
  Device& device_;
  Mutex mutex_;  // held from setting the stream until after the call
  void* stream_ GUARDED_BY(mutex_) = nullptr;
  bool stream_set_ GUARDED_BY(mutex_) = false;
  Workspace workspace_ GUARDED_BY(mutex_);           // the one that is set; empty: unknown
  bool holds_workspace_ GUARDED_BY(mutex_) = false;  // whether the handle may have one of a call
};

}  // namespace assay

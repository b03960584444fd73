// Loads the MIOpen of this machine and owns its objects.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>

#include "compute/vendor/convolution/convolution_problem.h"
#include "compute/vendor/convolution/miopen_api.h"
#include "core/result.h"

namespace assay::miopen {

struct Library {
  Functions functions;
  std::array<PassFunctions, 3> passes;  ///< indexed by ConvolutionDirection
  std::string path, version;

  /// Loaded once per process. Error: unavailable.
  static Result<const Library*> load();

  const PassFunctions& pass(ConvolutionDirection direction) const {
    return passes[static_cast<std::size_t>(direction)];
  }
  /// Returns the library's name and version: "MIOpen 3.4.0".
  std::string name() const { return "MIOpen " + version; }
  /// Returns "MIOpen 3.4.0: CALL: miopenStatus... (5): the library's explanation" as an error; ok
  /// on success. It is unsupported or exhausted if the status says so, otherwise failed.
  Status check(std::string_view call, int status) const;
  /// Returns whether it has Find 2.0 (ROCm 5.5 and later).
  bool has_find_2() const;
};

/// Owns any object of the library and destroys it.
using Object = std::unique_ptr<void, int (*)(void*)>;

/// A convolution's descriptors.
class Descriptors {
 public:
  /// Error: as check(); unsupported for extents or strides beyond 32 bits.
  static Result<Descriptors> create(const Library& library, const ConvolutionProblem& problem);

  Tensor x() const { return x_.get(); }
  Tensor w() const { return w_.get(); }
  Tensor y() const { return y_.get(); }
  Descriptor convolution() const { return convolution_.get(); }

 private:
  Descriptors(Object x, Object w, Object y, Object convolution)
      : x_(std::move(x)),
        w_(std::move(w)),
        y_(std::move(y)),
        convolution_(std::move(convolution)) {}

  Object x_, w_, y_, convolution_;
};

}  // namespace assay::miopen

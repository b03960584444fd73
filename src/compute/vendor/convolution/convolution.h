// Convolutions through a vendor's library: what blas.h is for GEMMs. A library is opened for one
// problem on a device and proposes plans, each with one algorithm; a plan can be enqueued any
// number of times. Everything slow (descriptors, searches, compiling) happens before enqueue().
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compute/device/device.h"
#include "compute/device/queued_operation.h"
#include "compute/vendor/convolution/convolution_problem.h"
#include "core/registry.h"
#include "core/result.h"

namespace assay {

/// Device addresses of tensors in the problem's type and layout. Its direction determines which of
/// them is written.
struct ConvolutionOperands {
  void* x = nullptr;
  void* w = nullptr;
  void* y = nullptr;
};

/// How a library is asked for plans. Libraries other than MIOpen have `every` and `first` only.
enum class ConvolutionSearch {
  every,  ///< all plans that it proposes
  first,  ///< its own first choice, without measuring
  /// MIOpen's miopenFindConvolution...Algorithm, as PyTorch calls it, in each of its four modes:
  /// the first plan that it finds.
  find_normal,
  find_fast,
  find_hybrid,
  find_dynamic,
  find_2,  ///< MIOpen's Find 2.0: the first solution
  /// MIOpen's search for the best parameters of each solver, which it stores in its user databases;
  /// it takes minutes. It skips solvers that these databases contain, unless
  /// MIOPEN_FIND_ENFORCE=SEARCH_DB_UPDATE.
  find_exhaustive,
};

/// Describes a convolution for recorders of timelines.
QueuedOperation queued_convolution(const ConvolutionProblem& problem);

/// May be used from one thread at a time.
class ConvolutionPlan {
 public:
  explicit ConvolutionPlan(const ConvolutionProblem& problem) : problem_(problem) {}
  virtual ~ConvolutionPlan() = default;
  /// Identifies the algorithm within one version of the library: one line, the same in every
  /// process.
  virtual std::string algorithm() const = 0;
  virtual std::size_t workspace_bytes() const = 0;
  /// Returns whether it computes in a transformed domain (Winograd, Fourier), which rounds more
  /// coarsely.
  virtual bool transforms() const { return false; }
  /// Must be called before these operands are first used, and again when w has changed: in the
  /// forward pass a library may keep w in a private layout, as weights do not change in inference.
  virtual Status prepare(Stream&, const ConvolutionOperands&) { return {}; }
  /// `workspace` is device memory of workspace_bytes() bytes, which all work of one stream can
  /// share. Error: failed with the library's status.
  Status enqueue(Stream& stream, const ConvolutionOperands& operands, void* workspace) {
    return queue_operation(
        stream, [&] { return queued_convolution(problem_); },
        [&] { return queue(stream, operands, workspace); });
  }

 protected:
  virtual Status queue(Stream& stream, const ConvolutionOperands& operands, void* workspace) = 0;

  ConvolutionProblem problem_;
};

/// Must be destroyed after its plans and before the device. May be used from one thread at a time.
class Convolution {
 public:
  virtual ~Convolution() = default;
  /// Returns the library's name and version: "cuDNN 9.19.0".
  virtual std::string library() const = 0;
  virtual std::string path() const = 0;
  /// Returns at least one plan, the library's own first choice first. A search that measures uses
  /// the operands and may overwrite the result. Error: unsupported if there is no plan, or the
  /// library has no such search.
  virtual Result<std::vector<std::unique_ptr<ConvolutionPlan>>> plans(
      Stream& stream, const ConvolutionOperands& operands, ConvolutionSearch search) = 0;
};

/// How a library registers itself; each is one file in this folder.
struct ConvolutionProvider {
  std::string_view name;     ///< "cudnn"
  std::string_view backend;  ///< "cuda": devices it works on
  /// Returns why the library cannot compute the problem on such a device, without loading the
  /// library.
  std::optional<std::string> (*unsupported)(const ConvolutionProblem& problem,
                                            const DeviceFacts& facts);
  /// Error: unavailable, naming what was looked for, where, and what to install.
  Result<std::unique_ptr<Convolution>> (*open)(Device& device, const ConvolutionProblem& problem);
};
using ConvolutionRegistry = Registry<ConvolutionProvider>;

/// Returns every library's name, sorted; for axes and messages.
std::vector<std::string> convolution_names();
/// Returns why the library named by `choice`, or with "auto" the one of the device's backend, does
/// not support this problem on such a device; empty if it should.
std::optional<std::string> convolution_unsupported(std::string_view choice,
                                                   const ConvolutionProblem& problem,
                                                   const DeviceFacts& facts);
/// Opens the library that `choice` means there. Error: as validate(); unsupported, with the reason
/// that convolution_unsupported() returns; as ConvolutionProvider::open().
Result<std::unique_ptr<Convolution>> open_convolution(Device& device, std::string_view choice,
                                                      const ConvolutionProblem& problem);

}  // namespace assay

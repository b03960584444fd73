// Convolutions through a vendor's library: the counterpart of blas.h. A library is opened for one
// problem on a device. It proposes plans, each one algorithm; a plan can be enqueued any number of
// times. Everything slow (descriptors, searches, compiling) happens before enqueue().
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compute/device/device.h"
#include "compute/vendor/convolution/convolution_problem.h"
#include "core/registry.h"
#include "core/result.h"

namespace assay {

/// Device addresses. The problem's direction says which of them is written.
struct ConvolutionOperands {
  void* x = nullptr;
  void* w = nullptr;
  void* y = nullptr;
};

/// How a library is asked for plans.
enum class ConvolutionSearch {
  every,         ///< all that it proposes
  first,         ///< its own first choice without any measuring
  find_normal,   ///< MIOpen's miopenFindConvolution...Algorithm in each of its modes, as which
  find_fast,     ///< PyTorch asks it: the first that it finds
  find_hybrid,   //
  find_dynamic,  //
  find_2,        ///< MIOpen's Find 2.0: the first solution
  /// MIOpen's search of the best parameters of each solver, which it keeps in its user databases:
  /// minutes. It passes over what they have, unless MIOPEN_FIND_ENFORCE=SEARCH_DB_UPDATE.
  find_exhaustive,
};

/// May be used from one thread at a time.
class ConvolutionPlan {
 public:
  virtual ~ConvolutionPlan() = default;
  /// Which algorithm it is, of one version of the library: one line, the same in every process.
  virtual std::string algorithm() const = 0;
  virtual std::size_t workspace_bytes() const = 0;
  /// Whether it computes in a transformed domain (Winograd, Fourier), whose roundings are larger.
  virtual bool transforms() const { return false; }
  /// Called before these operands are first used, and again when w has changed: forward, a library
  /// may keep w in a layout of its own, as weights do not change in inference.
  virtual Status prepare(Stream&, const ConvolutionOperands&) { return {}; }
  /// `workspace`: of workspace_bytes(), for all work of one stream. Error: failed with the
  /// library's status.
  virtual Status enqueue(Stream& stream, const ConvolutionOperands& operands, void* workspace) = 0;
};

/// Must be destroyed after its plans and before the device. May be used from one thread at a time.
class Convolution {
 public:
  virtual ~Convolution() = default;
  /// "cuDNN 9.19.0"
  virtual std::string library() const = 0;
  virtual std::string path() const = 0;
  /// At least one, the library's own first choice first. A search that measures uses the operands
  /// and may write the result. Error: unsupported if there is none, or the library has no such
  /// search.
  virtual Result<std::vector<std::unique_ptr<ConvolutionPlan>>> plans(
      Stream& stream, const ConvolutionOperands& operands, ConvolutionSearch search) = 0;
};

/// How a library registers itself; each is one file in this folder.
struct ConvolutionProvider {
  std::string_view name;     ///< "cudnn"
  std::string_view backend;  ///< "cuda": devices it works on
  /// Why the library cannot compute the problem on such a device, without loading it.
  std::optional<std::string> (*unsupported)(const ConvolutionProblem& problem,
                                            const DeviceFacts& facts);
  /// Error: unavailable, naming what was looked for, where, and what to install.
  Result<std::unique_ptr<Convolution>> (*open)(Device& device, const ConvolutionProblem& problem);
};
using ConvolutionRegistry = Registry<ConvolutionProvider>;

/// Every library's name, sorted; for axes and messages.
std::vector<std::string> convolution_names();
/// Why no library named by `choice`, or with "auto" of the backend, computes this on such a device;
/// empty: one should.
std::optional<std::string> convolution_unsupported(std::string_view choice,
                                                   const ConvolutionProblem& problem,
                                                   const DeviceFacts& facts);
/// Error: unsupported or unavailable, with all reasons.
Result<std::unique_ptr<Convolution>> open_convolution(Device& device, std::string_view choice,
                                                      const ConvolutionProblem& problem);

}  // namespace assay

// The loaded oneDNN 2 or 3, with one set of operations for both versions.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compute/vendor/libraries/onednn_api.h"
#include "core/data_type.h"
#include "core/result.h"

namespace assay::onednn {

/// DNNL_MEMORY_ALLOCATE
inline void* allocate_inside() {
  return reinterpret_cast<void*>(~std::uintptr_t{0});
}

/// Owns any object of the library.
using Object = std::unique_ptr<void, int (*)(void*)>;

/// Extents, and strides in elements.
struct TensorView {
  int dimensions = 2;
  Dimensions extents = {};
  Dimensions strides = {};
  bool any_layout = false;  ///< the library chooses the layout, and strides are not read
  DataType type{};
};

/// A memory descriptor of either version.
class OwnedDesc {
 public:
  OwnedDesc() = default;
  MemoryDesc get() const {
    return object_ ? object_.get() : static_cast<const void*>(bytes_.get());
  }
  explicit operator bool() const { return object_ || bytes_; }

 private:
  friend class Library;
  std::shared_ptr<void> object_;                                        // version 3
  std::shared_ptr<std::array<std::byte, memory_desc_bytes_v2>> bytes_;  // version 2
};

/// Operations on the products before they are stored, in order.
struct Finish {
  float alpha = 1;             ///< factor, if not 1
  float beta = 0;              ///< factor of the old D, which is added if beta is not 0
  MemoryDesc added = nullptr;  ///< a vector added to every row; null: none
  enum class Function { none, relu, gelu_tanh } function = Function::none;
};

/// A primitive with a scratchpad of its own. The library's scratchpad belongs to the thread that
/// makes the primitive; executing the primitive on another thread would crash.
class Step {
 public:
  Step() = default;
  explicit operator bool() const { return primitive_ != nullptr; }
  /// Returns a status. Must not be called by two threads at the same time.
  int run(Stream stream, std::vector<Argument> arguments) const;

 private:
  friend class Library;
  const Functions* functions_ = nullptr;
  std::shared_ptr<void> primitive_, scratch_;
};

/// Which of a convolution's tensors is computed.
enum class Pass { forward, backward_data, backward_weights };

/// A convolution with as many spatial dimensions as its tensors have beyond two. In backward passes
/// x, w and y are the gradients where those are computed or given.
struct ConvolutionSpec {
  Pass pass = Pass::forward;
  MemoryDesc x = nullptr, w = nullptr, y = nullptr;
  Dimensions strides = {}, dilations = {}, pads = {};  ///< dilation: elements skipped
};

class Library {
 public:
  /// Loaded once per process. Error: unavailable, also if the library has another version.
  static Result<const Library*> load();

  const Functions& functions() const { return functions_; }
  const std::string& path() const { return path_; }
  const std::string& version() const { return version_; }

  Result<OwnedDesc> describe(const TensorView& view) const;
  /// Makes a matmul's primitive descriptor. Error: unsupported if the library has no
  /// implementation.
  Result<Object> matmul(Engine engine, MemoryDesc a, MemoryDesc b, MemoryDesc bias, MemoryDesc d,
                        const Finish& finish) const;
  /// Makes a convolution's primitive descriptor. Error: unsupported if the library has no
  /// implementation.
  Result<Object> convolution(Engine engine, const ConvolutionSpec& spec) const;
  /// Makes a primitive descriptor that copies from one layout into another.
  Result<Object> reorder(Engine engine, MemoryDesc from, MemoryDesc to) const;
  /// Makes the primitive of any of these descriptors.
  Result<Step> step(Engine engine, const Object& desc) const;
  /// Makes a memory object at `data`, or with newly allocated memory for allocate_inside().
  Result<std::shared_ptr<void>> memory(Engine engine, MemoryDesc desc, void* data) const;
  /// Returns the argument index for `Finish::added`.
  static int added_argument(const Finish& finish);
  /// Returns how many threads the library uses on the calling thread; nullopt if its threads are
  /// not OpenMP's and therefore cannot be queried or set.
  std::optional<int> threads() const;
  void set_threads(int count) const;
  /// Keeps the threads that the library starts for the calling thread on one CPU each, none on the
  /// first, which is the caller's. Does nothing if they are not OpenMP's, if there are more than
  /// CPUs, or if a variable such as OMP_PROC_BIND says where they run.
  void place_threads() const;
  /// Returns ok on success. Error: unsupported if unimplemented, exhausted if out of memory,
  /// otherwise failed. All functions above that return a Result fail with it.
  Status check(int status, std::string_view call) const;

 private:
  Result<Object> attributes(const Finish& finish) const;
  Result<Object> bare_attributes() const;
  /// `hint` is the forward pass's descriptor, for backward passes.
  Result<Object> convolution_v2(Engine engine, const ConvolutionSpec& spec, const void* attributes,
                                const void* hint) const;
  Result<Object> convolution_v3(Engine engine, const ConvolutionSpec& spec, const void* attributes,
                                const void* hint) const;

  Functions functions_;
  FunctionsV2 v2_;
  FunctionsV3 v3_;
  // Functions of the OpenMP runtime that the library was built with, if any.
  int (*most_threads_)() = nullptr;
  void (*set_threads_)(int) = nullptr;
  int (*thread_number_)() = nullptr;
  void (*parallel_)(void (*body)(void*), void* data, unsigned threads, unsigned flags) = nullptr;
  int major_ = 0;
  std::string path_, version_;
};

/// While it lives, and if `limited`, primitives that the calling thread makes and runs use one
/// thread. Primitives made this way must also be run this way.
class OneThread {
 public:
  OneThread(const Library& library, bool limited)
      : library_(library), before_(limited ? library.threads() : std::nullopt) {
    if (before_) library_.set_threads(1);
  }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;
  ~OneThread() {
    if (before_) library_.set_threads(*before_);
  }

 private:
  const Library& library_;
  const std::optional<int> before_;
};

}  // namespace assay::onednn

// The loaded oneDNN 2 or 3, with the same operations for both.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "compute/blas/gemm_problem.h"
#include "compute/libraries/onednn_api.h"
#include "core/result.h"

namespace assay::onednn {

/// Owns any object of the library.
using Object = std::unique_ptr<void, int (*)(void*)>;

/// A matrix or a batch of them: 2 or 3 extents, and strides in elements (none: the library
/// chooses).
struct MatrixView {
  int dimensions = 2;
  Dimensions extents = {};
  Dimensions strides = {};
  bool any_layout = false;
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

/// The operations on the products before they are stored, in order.
struct Finish {
  float alpha = 1;             ///< factor, if not 1
  float beta = 0;              ///< factor for the old D, which is added, if not 0
  MemoryDesc added = nullptr;  ///< a vector added
  enum class Function { none, relu, gelu_tanh } function = Function::none;
};

class Library {
 public:
  /// Loaded once per process. Error: unavailable, also if the library has another version.
  static Result<const Library*> load();

  const Functions& functions() const { return functions_; }
  const std::string& path() const { return path_; }
  const std::string& version() const { return version_; }

  Result<OwnedDesc> describe(const MatrixView& view) const;
  /// A matmul's primitive descriptor. Error: unsupported if the library has no implementation.
  Result<Object> matmul(Engine engine, MemoryDesc a, MemoryDesc b, MemoryDesc bias, MemoryDesc d,
                        const Finish& finish) const;
  /// The argument index for `Finish::added`.
  static int added_argument(const Finish& finish);
  /// An error of the kind that matches `status`; none on success.
  Status check(int status, std::string_view call) const;

 private:
  Result<Object> attributes(const Finish& finish) const;

  Functions functions_;
  FunctionsV2 v2_;
  FunctionsV3 v3_;
  int major_ = 0;
  std::string path_, version_;
};

}  // namespace assay::onednn

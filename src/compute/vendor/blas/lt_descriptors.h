// A problem as descriptors of cuBLASLt and hipBLASLt, with alpha and beta in the type they require.
#pragma once

#include <cstdint>

#include "compute/vendor/blas/blas.h"
#include "compute/vendor/blas/cublaslt_or_hipblaslt.h"

namespace assay {

/// A scaling factor in a problem's compute type; address() is passed to the library.
class Scalar {
 public:
  Scalar(DataType compute, double value) {
    switch (compute) {
      case DataType::f64:
        value_.f64 = value;
        break;
      case DataType::i32:
        value_.i32 = static_cast<std::int32_t>(value);
        break;
      default:
        value_.f32 = static_cast<float>(value);
    }
  }
  const void* address() const { return &value_; }

 private:
  union {
    double f64;
    float f32;
    std::int32_t i32;
  } value_ = {};
};

namespace lt {

/// Owns one descriptor of any kind.
class Owned {
 public:
  Owned() = default;
  Owned(void* object, int (*destroy)(void*)) : object_(object), destroy_(destroy) {}
  Owned(Owned&& other) noexcept : object_(other.object_), destroy_(other.destroy_) {
    other.object_ = nullptr;
  }
  Owned& operator=(Owned&& other) noexcept {
    std::swap(object_, other.object_);
    std::swap(destroy_, other.destroy_);
    return *this;
  }
  ~Owned() {
    if (object_ != nullptr) destroy_(object_);
  }
  void* get() const { return object_; }

 private:
  void* object_ = nullptr;
  int (*destroy_)(void*) = nullptr;
};

/// The libraries are column-major, and a row-major matrix read as column-major is its transpose. So
/// D^T = op(B)^T op(A)^T is computed: `left` is our B, `right` our A, rows and columns are swapped,
/// and the transpose flags stay the same.
class Descriptors {
 public:
  /// Error: as status_error(); unsupported if this release lacks factors for rows and columns.
  static Result<Descriptors> create(const Library& library, const GemmProblem& problem);

  void* operation() const { return operation_.get(); }
  void* left() const { return left_.get(); }
  void* right() const { return right_.get(); }
  void* c() const { return c_.get(); }
  void* d() const { return d_.get(); }

  /// Writes the pointers that `problem` uses into the operation, if they changed. Error: failed if
  /// one of them is null.
  Status point_to(const Library& library, const GemmProblem& problem, const GemmOperands& operands);

 private:
  Status describe_epilogue(const Library& library, const GemmProblem& problem);
  Status describe_scales(const Library& library, const GemmProblem& problem);
  Status set(const Library& library, int attribute, const void* value, std::size_t bytes);

  Owned operation_, left_, right_, c_, d_;
  GemmOperands current_;
};

/// Returns "cublaslt: matmul: NOT_SUPPORTED (15) for m=...". It is unsupported if the status says
/// so, otherwise failed.
Error status_error(const Library& library, std::string_view call, int status,
                   const GemmProblem& problem);

}  // namespace lt
}  // namespace assay

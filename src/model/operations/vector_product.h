// The product of one row with a weight matrix, joined with what stands around it in a decoder
// (kernels/vector_product.cu). Matrix libraries are made for more rows: this one is bound by how
// fast the matrix is read.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "compute/device/device.h"
#include "model/operations/stored_matrix.h"
#include "model/operations/typed_kernels.h"

namespace assay {

/// How the kernels are built and launched: it changes no bit of the results. What is fastest is a
/// trade: bytes in flight, against blocks that leave room on their multiprocessor for those of the
/// next kernel, which then reads its matrix while this one still runs.
struct VectorVariant {
  int ahead = 4;     ///< loads of 16 bytes of each matrix row on their way to a lane
  int fitting = 3;   ///< blocks that a multiprocessor has registers for
  int launched = 3;  ///< blocks that are launched for each multiprocessor, at most

  /// Returns the choice as text: "4 ahead, 2 of 3 blocks".
  std::string name() const;
};

class VectorProduct {
 public:
  /// The variants worth trying on a GPU, the default first.
  static std::span<const VectorVariant> variants();

  /// `type`: f32 or bf16, of vectors, and of matrices without `codes`.
  static Result<VectorProduct> create(Device& device, DataType type, double norm_epsilon,
                                      std::optional<DataType> codes = std::nullopt,
                                      VectorVariant variant = {});
  const VectorVariant& variant() const { return variant_; }

  /// W[outputs, inputs]
  struct Shape {
    std::int64_t outputs = 0, inputs = 0;
  };
  /// What is joined with a product.
  struct Around {
    /// [inputs]: x is divided by its root mean square and multiplied by this; or null.
    const void* norm = nullptr;
    const void* bias = nullptr;  ///< [outputs], or null
    bool add = false;            ///< to what is in y
  };
  /// y = x W^T, as `around` says.
  Status forward(Stream& stream, void* y, const void* x, StoredMatrix weight, Shape shape,
                 const Around& around);
  /// y = silu(x W1^T) * (x W2^T), where W1 and W2, each of `shape`, follow each other; x is normed
  /// as above.
  Status forward_swiglu(Stream& stream, void* y, const void* x, StoredMatrix weight, Shape shape,
                        const void* norm);

 private:
  VectorProduct(const DeviceFacts& facts, Kernels kernels, DataType type, double norm_epsilon,
                VectorVariant variant)
      : facts_(&facts),
        variant_(variant),
        kernels_(std::move(kernels)),
        element_(static_cast<std::int64_t>(size_of(type))),
        norm_epsilon_(static_cast<float>(norm_epsilon)) {}
  Status enqueue(Stream& stream, void* y, const void* x, StoredMatrix weight, Shape shape,
                 const Around& around, bool swiglu);

  const DeviceFacts* facts_;
  VectorVariant variant_;
  Kernels kernels_;
  Kernel* kernel_ = nullptr;
  std::int64_t element_;  // bytes
  float norm_epsilon_;
};

}  // namespace assay

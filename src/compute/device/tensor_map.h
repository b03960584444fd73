// Describes tensors in device memory to the tensor memory accelerator (TMA) of NVIDIA GPUs. One
// instruction copies a box of such a tensor to or from shared memory.
#pragma once

#include <cstdint>
#include <vector>

#include "core/data_type.h"
#include "core/result.h"

namespace assay {

/// The result of Device::tensor_map() (device.h) for a TensorLayout. It is opaque; kernels take it
/// by value as a TENSOR_MAP (kernels/dialect.h). It stays valid as long as the memory it describes.
struct alignas(64) TensorMap {
  std::uint64_t words[16];
};

/// The number of bytes of shared memory within which 16-byte chunks are permuted, so that threads
/// that read a column of a box have no bank conflicts. A row of a box must not be longer.
enum class TensorSwizzle { none, bytes_32, bytes_64, bytes_128 };

struct TensorDimension {
  std::uint64_t size = 1;          ///< elements, up to 2^32
  std::uint32_t box = 1;           ///< elements in a box, up to 256
  std::uint64_t stride_bytes = 0;  ///< from element to element, a multiple of 16 below 2^40; 0 in
                                   ///< dimension 0, which is dense
};

struct TensorLayout {
  const void* address = nullptr;  ///< address of element 0, aligned to 16 bytes
  DataType type = DataType::bf16;
  /// 1 to 5 dimensions, the contiguous one first: for a row-major matrix columns, then rows. A box
  /// has a multiple of 16 bytes in dimension 0. Kernels give a box's coordinates in the same order.
  /// Where dimension 0 does not begin at a multiple of 16 bytes, an H200 stopped with the error
  /// "illegal instruction". What a box covers beyond the tensor reads as zero.
  std::vector<TensorDimension> dimensions;
  TensorSwizzle swizzle = TensorSwizzle::none;
  /// Bytes that the L2 cache fetches at a time: 64, 128 or 256; 0: only what is read.
  unsigned l2_bytes = 128;
};

/// Returns the bytes of a swizzle's span; 0 for none.
unsigned span_bytes(TensorSwizzle swizzle);

/// Checks whether the TMA accepts `layout`. Error: failed, naming the value, its limit and what to
/// do.
Status check_tensor_layout(const TensorLayout& layout);

}  // namespace assay

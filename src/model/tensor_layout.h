// Where tensors lie in an arena, an allocation that many of them share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace assay {

/// A row-major tensor in an arena of elements of one type.
struct Tensor {
  std::int64_t rows = 0, columns = 0;
  std::size_t offset = 0;  ///< from the arena's start, elements

  std::int64_t elements() const { return rows * columns; }
};

struct NamedTensor {
  std::string name;  ///< "layers.0.qkv"
  Tensor tensor;
};

/// Hands out places in an arena, one after another, each at a multiple of 128 elements: 256 bytes
/// of the narrowest type.
class TensorPlaces {
 public:
  Tensor next(std::int64_t rows, std::int64_t columns) {
    constexpr std::size_t alignment = 128;
    const Tensor tensor = {rows, columns, used_};
    const auto elements = static_cast<std::size_t>(tensor.elements());
    used_ += (elements + alignment - 1) / alignment * alignment;
    return tensor;
  }
  std::size_t used() const { return used_; }

 private:
  std::size_t used_ = 0;
};

}  // namespace assay

// Where tensors lie in an arena, an allocation that many of them share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

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

/// Tensors that are used together, a block of a model: a range of an arena, elements.
struct Section {
  std::size_t begin = 0, end = 0;

  std::size_t elements() const { return end - begin; }
};

/// Hands out places in an arena, one after another, each at a multiple of 128 elements: 256 bytes
/// of the narrowest type.
class TensorPlaces {
 public:
  /// `slices`: into how many equal parts, aligned like tensors, each section can be cut.
  explicit TensorPlaces(std::size_t slices = 1) : slices_(slices) {}

  Tensor next(std::int64_t rows, std::int64_t columns) {
    const Tensor tensor = {rows, columns, used_};
    used_ = aligned(used_ + static_cast<std::size_t>(tensor.elements()), alignment);
    return tensor;
  }
  /// What was handed out since the last call, and what it takes to make it divisible.
  Section end_section() {
    const std::size_t begin = std::exchange(begun_, aligned(used_, alignment * slices_));
    used_ = begun_;
    return {begin, used_};
  }
  std::size_t used() const { return used_; }

 private:
  static constexpr std::size_t alignment = 128;
  static std::size_t aligned(std::size_t elements, std::size_t to) {
    return (elements + to - 1) / to * to;
  }

  const std::size_t slices_;
  std::size_t used_ = 0, begun_ = 0;
};

}  // namespace assay

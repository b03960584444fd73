// Where tensors lie in an arena, an allocation that many of them share, and which part of a named
// tensor that is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace assay {

/// A row-major tensor in an arena of elements of one type. A quantized matrix lies in an arena of
/// codes of one byte, and each of its rows has a factor in an arena of f32.
struct Tensor {
  std::int64_t rows = 0, columns = 0;
  std::size_t offset = 0;  ///< elements from the arena's start
  bool quantized = false;
  std::size_t factors = 0;  ///< the offset of the first row's factor

  std::int64_t elements() const { return rows * columns; }
  /// `count` of its rows from `first` on.
  Tensor rows_from(std::int64_t first, std::int64_t count) const {
    return {count, columns, offset + static_cast<std::size_t>(first * columns), quantized,
            factors + static_cast<std::size_t>(first)};
  }
};

/// A tensor as files name it. A rank may have all of it, or a block of its rows and columns.
struct NamedTensor {
  enum class Kind { matrix, bias, norm };

  std::string name;  ///< "layers.0.qkv"; with Hugging Face "model.layers.0.self_attn.q_proj.weight"
  Tensor tensor;     ///< what this rank has of it, in its arena
  Kind kind = Kind::matrix;
  std::vector<std::int64_t> shape = {};  ///< all of it, in files; a vector is one row
  std::int64_t row = 0, column = 0;      ///< where this rank's block begins in files
  /// The tensor of a model of one rank, without quantization, that contains this one, and the
  /// number of this rank's first element in it.
  Tensor whole = {};
  std::size_t first = 0;

  /// Elements of a row in files.
  std::int64_t columns_in_file() const { return shape.back(); }
};

/// A range of an arena, in elements: tensors that are used together, such as those of a block.
struct Section {
  std::size_t begin = 0, end = 0;

  std::size_t elements() const { return end - begin; }
};

/// Places tensors in an arena one after another, each at a multiple of 128 elements: 256 bytes of
/// the narrowest type.
class TensorPlaces {
 public:
  /// `slices`: into how many equal parts, aligned like tensors, each section can be cut. `begin`:
  /// an aligned offset, before which none is placed.
  explicit TensorPlaces(std::size_t slices = 1, std::size_t begin = 0)
      : slices_(slices), used_(begin), begun_(begin) {}

  Tensor next(std::int64_t rows, std::int64_t columns) {
    const Tensor tensor = {rows, columns, used_};
    used_ = aligned_end(used_, tensor);
    return tensor;
  }
  /// Where the next tensor can begin behind one that lies at `offset`.
  static std::size_t aligned_end(std::size_t offset, const Tensor& tensor) {
    return aligned(offset + static_cast<std::size_t>(tensor.elements()), alignment);
  }
  /// Returns the section of all tensors since the last call, padded until it can be cut.
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
  std::size_t used_, begun_;
};

}  // namespace assay

// Places tensors in one arena so that those that are never needed at the same moment share memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "model/tensors/tensor_layout.h"

namespace assay {

class SharedPlaces {
 public:
  /// A set of moments, one bit each.
  using Moments = std::uint32_t;

  /// `tensor` will be placed. It must stay where it is until place_all().
  void add(Tensor& tensor, std::int64_t rows, std::int64_t columns, Moments needed) {
    tensor = {rows, columns};
    if (tensor.elements() > 0) all_.push_back({&tensor, needed});
  }

  /// Places all tensors, the largest first, each at the lowest offset from `begin` on where no
  /// other one lies that is needed at one of its moments. Returns the end of all.
  std::size_t place_all(std::size_t begin) {
    std::ranges::stable_sort(all_, std::greater(),
                             [](const Needed& one) { return one.tensor->elements(); });
    std::size_t end = begin;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      all_[i].tensor->offset = lowest_offset(i, begin);
      end = std::max(end, end_of(all_[i]));
    }
    return end;
  }

 private:
  struct Needed {
    Tensor* tensor;
    Moments moments;
  };

  static std::size_t end_of(const Needed& one) {
    return TensorPlaces::aligned_end(one.tensor->offset, *one.tensor);
  }
  /// The offset for the tensor number `index`, once those before it are placed.
  std::size_t lowest_offset(std::size_t index, std::size_t begin) const {
    const Needed& placed = all_[index];
    std::vector<const Needed*> in_the_way;
    for (std::size_t i = 0; i < index; ++i) {
      if ((all_[i].moments & placed.moments) != 0) in_the_way.push_back(&all_[i]);
    }
    std::ranges::sort(in_the_way, {}, [](const Needed* one) { return one->tensor->offset; });
    std::size_t offset = begin;
    for (const Needed* other : in_the_way) {
      if (TensorPlaces::aligned_end(offset, *placed.tensor) <= other->tensor->offset) break;
      offset = std::max(offset, end_of(*other));
    }
    return offset;
  }

  std::vector<Needed> all_;
};

}  // namespace assay

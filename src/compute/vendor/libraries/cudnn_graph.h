// A graph of cuDNN's operations: tensors and operations as descriptors, made one after the other.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "compute/vendor/libraries/cudnn_library.h"

namespace assay::cudnn {

/// A tensor to be made.
struct TensorSpec {
  int type = data::f32;
  std::vector<std::int64_t> dimensions = {1, 1, 1, 1};
  std::vector<std::int64_t> strides = {1, 1, 1, 1};
  std::int64_t id = 0;    ///< by which an operand is given to it; 0: virtual, never in memory
  bool by_value = false;  ///< in host memory
  /// A tensor of i32 [batch + 1, 1, 1, 1] with the element at which each of a batch begins, instead
  /// of the first stride; or null.
  void* ragged = nullptr;

  TensorSpec as(int other_type) const {
    TensorSpec spec = *this;
    spec.type = other_type;
    return spec;
  }
  TensorSpec at(void* offsets) const {
    TensorSpec spec = *this;
    spec.ragged = offsets;
    return spec;
  }
  TensorSpec with_id(std::int64_t other_id) const {
    TensorSpec spec = *this;
    spec.id = other_id;
    return spec;
  }
};

/// A finalized graph with the descriptors that it consists of.
class OperationGraph {
 public:
  const Descriptor& descriptor() const { return parts_.back(); }
  /// How many operations it has.
  std::size_t operations() const { return operations_; }

 private:
  friend class GraphBuilder;
  OperationGraph(std::vector<Descriptor> parts, std::size_t operations)
      : parts_(std::move(parts)), operations_(operations) {}

  std::vector<Descriptor> parts_;  // the graph itself is the last
  std::size_t operations_;
};

/// Makes one part after the other. Tensors are named by their descriptors, which it owns. The
/// library must outlive the graph.
class GraphBuilder {
 public:
  explicit GraphBuilder(const Library& library) : library_(library) {}

  Result<void*> tensor(const TensorSpec& spec);
  /// Finalizes what an operation refers to; its address.
  Result<void*> keep(Descriptor made);
  Status keep_operation(Descriptor made);
  /// `role`: "attention's graph", for messages.
  Result<OperationGraph> finish(void* handle, std::string_view role);

 protected:
  const Library& library_;

 private:
  static constexpr std::int64_t first_virtual = 100;  // above all ids of operands

  std::vector<Descriptor> parts_;
  std::vector<void*> operations_;
  std::int64_t next_virtual_ = first_virtual;
};

}  // namespace assay::cudnn

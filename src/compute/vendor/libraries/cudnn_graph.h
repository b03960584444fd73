// Builds a graph of cuDNN's operations: tensors and operations are descriptors, made one after the
// other.
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
  std::int64_t id = 0;    ///< identifies the operand bound to it; 0: virtual, never in memory
  bool by_value = false;  ///< a single value in host memory
  /// A tensor of i32 [batch + 1, 1, 1, 1] with the element at which each sequence of the batch
  /// begins, used instead of the first stride; or null.
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
  /// Returns the number of operations.
  std::size_t operations() const { return operations_; }

 private:
  friend class GraphBuilder;
  OperationGraph(std::vector<Descriptor> parts, std::size_t operations)
      : parts_(std::move(parts)), operations_(operations) {}

  std::vector<Descriptor> parts_;  // the last one is the graph itself
  std::size_t operations_;
};

/// Makes one part after the other. The builder owns tensors, which are referred to by their
/// descriptors. The library must outlive the graph.
class GraphBuilder {
 public:
  explicit GraphBuilder(const Library& library) : library_(library) {}

  /// Returns the address of the tensor's descriptor.
  Result<void*> tensor(const TensorSpec& spec);
  /// Finalizes a descriptor that an operation refers to, keeps it, and returns its address.
  Result<void*> keep(Descriptor made);
  /// Finalizes an operation and appends it to the graph.
  Status keep_operation(Descriptor made);
  /// Makes the graph and ends the builder's use. `role` is for messages: "attention's graph".
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

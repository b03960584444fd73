// Builds a graph of cuDNN's operations. Tensors, operations and the graph itself are descriptors of
// cuDNN, each of which refers to others by address. Functions below that return an address return
// that of a descriptor, which stays valid as long as the builder or the graph that it makes.
// Errors: as Library::error().
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "compute/vendor/libraries/cudnn_library.h"

namespace assay::cudnn {

/// A tensor to be made, aligned to 16 bytes.
struct TensorSpec {
  int type = data::f32;
  std::vector<std::int64_t> dimensions = {1, 1, 1, 1};  ///< as many as strides
  std::vector<std::int64_t> strides = {1, 1, 1, 1};     ///< in elements
  std::int64_t id = 0;    ///< Operand::id of its memory; 0: virtual, never in memory
  bool by_value = false;  ///< a single value in host memory
  /// Address of a tensor of i32 [batch + 1, 1, 1, 1], which holds the element at which each
  /// sequence of the batch begins, and the end. It replaces the first stride. Null: the first
  /// stride applies.
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

/// A finalized graph, which owns the descriptors that it consists of. The library must outlive it.
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

/// Makes a graph, operands before the operations that use them. Derived classes add functions for
/// operations.
class GraphBuilder {
 public:
  explicit GraphBuilder(const Library& library) : library_(library) {}

  Result<void*> tensor(const TensorSpec& spec);
  /// Finalizes a descriptor that other parts refer to, keeps it, and returns its address.
  Result<void*> keep(Descriptor made);
  /// Finalizes an operation and appends it to the graph.
  Status keep_operation(Descriptor made);
  /// Makes the graph; the builder is of no use afterwards. `handle` is Handle::get(). `role` is for
  /// messages, "attention's graph", and must outlive the graph.
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

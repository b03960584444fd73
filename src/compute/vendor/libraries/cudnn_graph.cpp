#include "compute/vendor/libraries/cudnn_graph.h"

namespace assay::cudnn {

Result<void*> GraphBuilder::tensor(const TensorSpec& spec) {
  constexpr std::int64_t alignment = 16;  // bytes: what copies of whole vectors need
  const std::int64_t id = spec.id != 0 ? spec.id : next_virtual_++;
  const bool is_virtual = spec.id == 0;
  const auto rank = static_cast<std::int64_t>(spec.dimensions.size());
  Descriptor made = TRY(Descriptor::create(library_, descriptor::tensor, "a tensor"));
  TRY(made.set(attribute::tensor_type, type::data_type, spec.type));
  TRY(made.set(attribute::tensor_dimensions, type::int64, rank, spec.dimensions.data()));
  TRY(made.set(attribute::tensor_strides, type::int64, rank, spec.strides.data()));
  TRY(made.set(attribute::tensor_id, type::int64, id));
  TRY(made.set(attribute::tensor_alignment, type::int64, alignment));
  TRY(made.set(attribute::tensor_virtual, type::boolean, is_virtual));
  TRY(made.set(attribute::tensor_by_value, type::boolean, spec.by_value));
  if (spec.ragged != nullptr) TRY(made.set_descriptor(attribute::tensor_ragged, spec.ragged));
  return keep(std::move(made));
}

Result<void*> GraphBuilder::keep(Descriptor made) {
  TRY(made.finalize());
  parts_.push_back(std::move(made));
  return parts_.back().get();
}

Status GraphBuilder::keep_operation(Descriptor made) {
  operations_.push_back(TRY(keep(std::move(made))));
  return {};
}

Result<OperationGraph> GraphBuilder::finish(void* handle, std::string_view role) {
  Descriptor made = TRY(Descriptor::create(library_, descriptor::graph, role));
  TRY(made.set(attribute::graph_handle, type::handle, handle));
  TRY(made.set(attribute::graph_operations, type::descriptor,
               static_cast<std::int64_t>(operations_.size()), operations_.data()));
  TRY(keep(std::move(made)));
  return OperationGraph(std::move(parts_), operations_.size());
}

}  // namespace assay::cudnn

// Causal attention as graphs of cuDNN's operations, forward and backward. cuDNN recognizes flash
// attention by the pattern of these operations, so their kinds, order and types are part of the
// interface. They are the ones with which NVIDIA's own frontend builds attention.
#pragma once

#include <cstdint>

#include "compute/vendor/libraries/cudnn_graph.h"

namespace assay::cudnn {

/// Identifiers of tensors in a graph, by which operands are bound.
enum Id : std::int64_t {
  queries = 1,
  keys,
  values,
  result,
  log_sum,
  d_queries,
  d_keys,
  d_values,
  d_result,
  row_sums,       ///< f32: row sums of the result times its gradient
  accumulator,    ///< f32: d_queries before rounding
  query_lengths,  ///< i32 arrays of SequencePlaces, from here up to y_offsets
  key_lengths,
  query_offsets,
  key_offsets,
  value_offsets,
  y_offsets,
  scale,   ///< this and all that follow are single values in host memory
  masked,  ///< the score of a key that comes after the query
  absent,  ///< the score of a query or key beyond the end of its sequence
  one,
};

struct AttentionSizes {
  int type = data::bf16;  ///< type of operands and results: bf16 or f16
  std::int64_t batch = 0, sequence = 0, heads = 0, kv_heads = 0, head_width = 0;
  bool forward_only = false;  ///< log_sum stays within the graph
  bool own_lengths = false;   ///< sequences lie where SequencePlaces describes
};

/// How d_queries are summed.
enum class Summing {
  accumulated,  ///< blocks add to `accumulator` as they finish, in any order
  in_order,     ///< one GEMM, with the gradients of all scores in the plan's workspace
};

/// The library must outlive the graphs; `handle` is Handle::get(). The backward graph requires as
/// many key heads as query heads. Error: as Library::error().
Result<OperationGraph> attention_forward(const Library& library, void* handle,
                                         const AttentionSizes& sizes);
Result<OperationGraph> attention_backward(const Library& library, void* handle,
                                          const AttentionSizes& sizes, Summing summing);

}  // namespace assay::cudnn

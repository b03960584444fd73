// Causal attention as graphs of cuDNN's operations, forward and backward. cuDNN knows flash
// attention by the pattern of these operations, so their kinds, order and types are part of the
// interface; they are those with which NVIDIA's own frontend builds attention.
#pragma once

#include <cstdint>

#include "compute/vendor/libraries/cudnn_graph.h"

namespace assay::cudnn {

/// Names of tensors in a graph, by which operands are given to it.
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
  row_sums,       ///< f32: of the result times its gradient
  accumulator,    ///< f32: d_queries before they are rounded
  query_lengths,  ///< i32 [batch], as in SequencePlaces, and so are those up to y_offsets
  key_lengths,
  query_offsets,
  key_offsets,
  value_offsets,
  y_offsets,
  scale,   ///< the rest are single values in host memory
  masked,  ///< the score of a key after the query
  absent,  ///< the score of a query or key behind the end of its sequence
  one,
};

struct AttentionSizes {
  int type = data::bf16;  ///< of operands and results; f16 is the other
  std::int64_t batch = 0, sequence = 0, heads = 0, kv_heads = 0, head_width = 0;
  bool forward_only = false;  ///< log_sum stays within the graph
  bool own_lengths = false;   ///< sequences lie where SequencePlaces says
};

/// How d_queries come about.
enum class Summing {
  accumulated,  ///< blocks add to `accumulator` as they finish: in any order
  in_order,     ///< one product, with the gradients of all scores in the plan's workspace
};

/// The library must outlive the graphs. The backward one is for as many heads of keys as of
/// queries.
Result<OperationGraph> attention_forward(const Library& library, void* handle,
                                         const AttentionSizes& sizes);
Result<OperationGraph> attention_backward(const Library& library, void* handle,
                                          const AttentionSizes& sizes, Summing summing);

}  // namespace assay::cudnn

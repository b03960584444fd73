#include "model/decoder/decoder_activations.h"

namespace assay {

DecoderActivations DecoderActivations::of(const TransformerShape& whole, std::int64_t tokens,
                                          std::int64_t results, TensorParallelShard shard) {
  const TransformerShape shape = own_shape(whole, shard);
  const std::int64_t rows = head_rows(whole, shard);
  TensorPlaces place;
  DecoderActivations a;
  a.stream = place.next(tokens, shape.width);
  a.normed = place.next(tokens, shape.width);
  a.branch = place.next(tokens, shape.width);
  a.qkv = place.next(tokens, shape.qkv_width());
  a.attended = place.next(tokens, shape.query_width());
  a.gate_up = place.next(tokens, 2 * shape.hidden);
  a.hidden = place.next(tokens, shape.hidden);
  a.last = place.next(results, shape.width);
  a.logits = place.next(results, shard.ranks * rows);
  a.own_logits = place.next(shard.is_whole() ? 0 : results, rows);
  a.gathered_logits = place.next(shard.is_whole() ? 0 : shard.ranks * results, rows);
  a.elements = place.used();
  return a;
}

}  // namespace assay

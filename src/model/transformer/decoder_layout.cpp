#include "model/transformer/decoder_layout.h"

namespace assay {

WeightMatrix WeightMatrix::rows_from(std::int64_t first, std::int64_t count) const {
  WeightMatrix part = *this;
  part.rows = count;
  part.offset += static_cast<std::size_t>(first * columns);
  part.factors += static_cast<std::size_t>(first);
  return part;
}

DecoderWeights DecoderWeights::of(const DecoderShape& whole, bool quantized,
                                  TensorParallelShard part) {
  const DecoderShape shape = own_shape(whole, part);
  TensorPlaces place, codes, factors;
  DecoderWeights w;
  const auto matrix = [&](std::int64_t rows, std::int64_t columns) {
    if (!quantized) return WeightMatrix{place.next(rows, columns)};
    return WeightMatrix{codes.next(rows, columns), true, factors.next(1, rows).offset};
  };
  const std::int64_t c = shape.width;
  w.embedding = place.next(part.ranks * head_rows(whole, part), c);
  for (std::int64_t i = 0; i < shape.layers; ++i) {
    DecoderLayerWeights layer;
    layer.norm1 = place.next(1, c);
    layer.qkv = matrix(shape.qkv_width(), c);
    layer.qkv_bias = place.next(shape.qkv_bias ? 1 : 0, shape.qkv_width());
    layer.query_norm = place.next(shape.head_norms ? 1 : 0, shape.head_width);
    layer.key_norm = place.next(shape.head_norms ? 1 : 0, shape.head_width);
    layer.proj = matrix(c, shape.query_width());
    layer.norm2 = place.next(1, c);
    layer.gate_up = matrix(2 * shape.hidden, c);
    layer.down = matrix(c, shape.hidden);
    w.layers.push_back(layer);
  }
  w.norm = place.next(1, c);
  const std::int64_t rows = head_rows(whole, part);
  w.head = shape.tied && !quantized ? WeightMatrix{w.embedding}.rows_from(part.rank * rows, rows)
                                    : matrix(rows, c);
  w.elements = place.used();
  w.codes = codes.used();
  w.factors = factors.used();
  return w;
}

std::vector<WeightMatrix> DecoderWeights::matrices() const {
  std::vector<WeightMatrix> all;
  for (const DecoderLayerWeights& layer : layers) {
    all.insert(all.end(), {layer.qkv, layer.proj, layer.gate_up, layer.down});
  }
  return all;
}

DecoderActivations DecoderActivations::of(const DecoderShape& whole, std::int64_t tokens,
                                          std::int64_t results, TensorParallelShard part) {
  const DecoderShape shape = own_shape(whole, part);
  const std::int64_t rows = head_rows(whole, part);
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
  a.logits = place.next(results, part.ranks * rows);
  a.own_logits = place.next(part.is_whole() ? 0 : results, rows);
  a.gathered_logits = place.next(part.is_whole() ? 0 : part.ranks * results, rows);
  a.elements = place.used();
  return a;
}

}  // namespace assay

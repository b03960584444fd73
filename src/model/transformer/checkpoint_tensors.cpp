#include "model/transformer/checkpoint_tensors.h"

#include <fmt/format.h>

#include <algorithm>

namespace assay {
namespace {

using Kind = ShardTensor::Kind;

/// `count` rows of a matrix, or elements of a vector, from `first` on.
struct Range {
  std::int64_t first = 0, count = 0;
};

class Pieces {
 public:
  /// `of_file`: which rows of `whole` the file's matrix is; `rows` and `columns`: what of the
  /// file's matrix this rank has.
  void add_matrix(const std::string& name, const WeightMatrix& place, const Tensor& whole,
                  Range of_file, Range rows, Range columns) {
    add({.kind = Kind::matrix,
         .name = name + ".weight",
         .shape = {of_file.count, whole.columns},
         .row = rows.first,
         .column = columns.first,
         .place = place,
         .whole = whole,
         .first = static_cast<std::size_t>((of_file.first + rows.first) * whole.columns +
                                           columns.first)});
  }
  /// The same of a vector, of which `elements` are this rank's.
  void add_vector(Kind kind, std::string name, const Tensor& place, const Tensor& whole,
                  Range of_file, Range elements) {
    add({.kind = kind,
         .name = std::move(name),
         .shape = {of_file.count},
         .column = elements.first,
         .place = {place},
         .whole = whole,
         .first = static_cast<std::size_t>(of_file.first + elements.first)});
  }

  std::vector<ShardTensor> take() { return std::move(all_); }

 private:
  void add(ShardTensor piece) {
    if (piece.place.elements() > 0) all_.push_back(std::move(piece));
  }

  std::vector<ShardTensor> all_;
};

}  // namespace

std::vector<ShardTensor> tensors_of_shard(const DecoderShape& shape, const DecoderWeights& own,
                                          TensorParallelShard part) {
  const DecoderWeights usual = DecoderWeights::of(shape);
  const DecoderShape mine = own_shape(shape, part);
  const std::int64_t c = shape.width, d = shape.head_width, v = shape.vocabulary, f = shape.hidden;
  const auto whole_range = [](std::int64_t count) { return Range{0, count}; };
  const Range queries = {part.rank * mine.query_width(), mine.query_width()};
  const Range keys = {part.first_kv_head(shape) * d, mine.kv_width()};
  const Range hidden = {part.rank * mine.hidden, mine.hidden};
  Pieces pieces;
  const auto add_norm = [&](std::string name, const Tensor& place, const Tensor& whole) {
    pieces.add_vector(Kind::norm, std::move(name), place, whole, whole_range(whole.columns),
                      whole_range(whole.columns));
  };
  pieces.add_matrix("model.embed_tokens", WeightMatrix{own.embedding}.rows_from(0, v),
                    usual.embedding, whole_range(v), whole_range(v), whole_range(c));
  for (std::size_t i = 0; i < own.layers.size(); ++i) {
    const DecoderLayerWeights &here = own.layers[i], &there = usual.layers[i];
    const std::string prefix = fmt::format("model.layers.{}.", i);
    const std::string attention = prefix + "self_attn.", mlp = prefix + "mlp.";
    add_norm(prefix + "input_layernorm.weight", here.norm1, there.norm1);
    std::int64_t first_here = 0, first_there = 0;
    const auto add_projection = [&](const char* name, std::int64_t rows_there, Range rows) {
      const Range of_file = {first_there, rows_there};
      pieces.add_matrix(attention + name, here.qkv.rows_from(first_here, rows.count), there.qkv,
                        of_file, rows, whole_range(c));
      if (here.qkv_bias.elements() > 0) {
        const Tensor bias = {1, rows.count,
                             here.qkv_bias.offset + static_cast<std::size_t>(first_here)};
        pieces.add_vector(Kind::bias, attention + name + ".bias", bias, there.qkv_bias, of_file,
                          rows);
      }
      first_here += rows.count;
      first_there += rows_there;
    };
    add_projection("q_proj", shape.query_width(), queries);
    add_projection("k_proj", shape.kv_width(), keys);
    add_projection("v_proj", shape.kv_width(), keys);
    add_norm(attention + "q_norm.weight", here.query_norm, there.query_norm);
    add_norm(attention + "k_norm.weight", here.key_norm, there.key_norm);
    pieces.add_matrix(attention + "o_proj", here.proj, there.proj, whole_range(c), whole_range(c),
                      queries);
    add_norm(prefix + "post_attention_layernorm.weight", here.norm2, there.norm2);
    pieces.add_matrix(mlp + "gate_proj", here.gate_up.rows_from(0, hidden.count), there.gate_up,
                      {0, f}, hidden, whole_range(c));
    pieces.add_matrix(mlp + "up_proj", here.gate_up.rows_from(hidden.count, hidden.count),
                      there.gate_up, {f, f}, hidden, whole_range(c));
    pieces.add_matrix(mlp + "down_proj", here.down, there.down, whole_range(c), whole_range(c),
                      hidden);
  }
  add_norm("model.norm.weight", own.norm, usual.norm);
  if (!shape.tied) {
    const std::int64_t first = std::min(v, part.rank * head_rows(shape, part));
    const Range rows = {first, std::min(head_rows(shape, part), v - first)};
    pieces.add_matrix("lm_head", own.head.rows_from(0, rows.count), usual.head, whole_range(v),
                      rows, whole_range(c));
  }
  return pieces.take();
}

}  // namespace assay

#include "model/transformer/checkpoint_tensors.h"

#include <fmt/format.h>

#include <algorithm>

namespace assay {
namespace {

using Kind = NamedTensor::Kind;

/// `count` rows of a matrix, or elements of a vector, from `first` on.
struct TensorRange {
  std::int64_t first = 0, count = 0;
};

class TensorList {
 public:
  /// `of_file`: which rows of `whole` the file's matrix is; `rows` and `columns`: what of the
  /// file's matrix this rank has.
  void add_matrix(const std::string& name, const Tensor& tensor, const Tensor& whole,
                  TensorRange of_file, TensorRange rows, TensorRange columns) {
    add({.name = name + ".weight",
         .tensor = tensor,
         .kind = Kind::matrix,
         .shape = {of_file.count, whole.columns},
         .row = rows.first,
         .column = columns.first,
         .whole = whole,
         .first = static_cast<std::size_t>((of_file.first + rows.first) * whole.columns +
                                           columns.first)});
  }
  /// Adds a vector, of which `elements` are this rank's.
  void add_vector(Kind kind, std::string name, const Tensor& tensor, const Tensor& whole,
                  TensorRange of_file, TensorRange elements) {
    add({.name = std::move(name),
         .tensor = tensor,
         .kind = kind,
         .shape = {of_file.count},
         .column = elements.first,
         .whole = whole,
         .first = static_cast<std::size_t>(of_file.first + elements.first)});
  }

  std::vector<NamedTensor> take() { return std::move(all_); }

 private:
  void add(NamedTensor named) {
    if (named.tensor.elements() > 0) all_.push_back(std::move(named));
  }

  std::vector<NamedTensor> all_;
};

}  // namespace

std::vector<NamedTensor> tensors_of_shard(const TransformerShape& shape,
                                          const TransformerParameters& own,
                                          TensorParallelShard shard) {
  const TransformerParameters usual = TransformerParameters::of(shape);
  const TransformerShape mine = own_shape(shape, shard);
  const std::int64_t c = shape.width, d = shape.head_width, v = shape.vocabulary, f = shape.hidden;
  const auto whole_range = [](std::int64_t count) { return TensorRange{0, count}; };
  const TensorRange queries = {shard.rank * mine.query_width(), mine.query_width()};
  const TensorRange keys = {shard.first_kv_head(shape) * d, mine.kv_width()};
  const TensorRange hidden = {shard.rank * mine.hidden, mine.hidden};
  TensorList tensors;
  const auto add_norm = [&](std::string name, const Tensor& tensor, const Tensor& whole) {
    tensors.add_vector(Kind::norm, std::move(name), tensor, whole, whole_range(whole.columns),
                       whole_range(whole.columns));
  };
  tensors.add_matrix("model.embed_tokens", own.embedding.rows_from(0, v), usual.embedding,
                     whole_range(v), whole_range(v), whole_range(c));
  for (std::size_t i = 0; i < own.layers.size(); ++i) {
    const LayerParameters &here = own.layers[i], &there = usual.layers[i];
    const std::string prefix = fmt::format("model.layers.{}.", i);
    const std::string attention = prefix + "self_attn.", mlp = prefix + "mlp.";
    add_norm(prefix + "input_layernorm.weight", here.norm1_weight, there.norm1_weight);
    std::int64_t first_here = 0, first_there = 0;
    const auto add_projection = [&](const char* name, std::int64_t rows_there, TensorRange rows) {
      const TensorRange of_file = {first_there, rows_there};
      tensors.add_matrix(attention + name, here.qkv.rows_from(first_here, rows.count), there.qkv,
                         of_file, rows, whole_range(c));
      if (here.qkv_bias.elements() > 0) {
        const Tensor bias = {1, rows.count,
                             here.qkv_bias.offset + static_cast<std::size_t>(first_here)};
        tensors.add_vector(Kind::bias, attention + name + ".bias", bias, there.qkv_bias, of_file,
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
    tensors.add_matrix(attention + "o_proj", here.proj, there.proj, whole_range(c), whole_range(c),
                       queries);
    add_norm(prefix + "post_attention_layernorm.weight", here.norm2_weight, there.norm2_weight);
    tensors.add_matrix(mlp + "gate_proj", here.up.rows_from(0, hidden.count), there.up, {0, f},
                       hidden, whole_range(c));
    tensors.add_matrix(mlp + "up_proj", here.up.rows_from(hidden.count, hidden.count), there.up,
                       {f, f}, hidden, whole_range(c));
    tensors.add_matrix(mlp + "down_proj", here.down, there.down, whole_range(c), whole_range(c),
                       hidden);
  }
  add_norm("model.norm.weight", own.norm_weight, usual.norm_weight);
  if (!shape.tied) {
    const std::int64_t first = std::min(v, shard.rank * head_rows(shape, shard));
    const TensorRange rows = {first, std::min(head_rows(shape, shard), v - first)};
    tensors.add_matrix("lm_head", own.head.rows_from(0, rows.count), usual.head, whole_range(v),
                       rows, whole_range(c));
  }
  return tensors.take();
}

}  // namespace assay

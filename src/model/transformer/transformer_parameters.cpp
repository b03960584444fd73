#include "model/transformer/transformer_parameters.h"

#include <fmt/format.h>

namespace assay {

TransformerParameters TransformerParameters::of(const TransformerShape& whole,
                                                const ParameterLayout& layout) {
  const TransformerShape shape = own_shape(whole, layout.shard);
  TensorPlaces place(static_cast<std::size_t>(layout.slices)), codes, factors;
  TransformerParameters p;
  p.gated = shape.activation == ActivationKind::swiglu;
  p.tied = shape.tied && !layout.quantized;
  const std::int64_t c = shape.width, d = shape.head_width,
                     heads_rows = head_rows(whole, layout.shard);
  const auto vector = [&](bool exists, std::int64_t columns) {
    return place.next(exists ? 1 : 0, columns);
  };
  const auto matrix = [&](std::int64_t rows, std::int64_t columns) {
    if (!layout.quantized) return place.next(rows, columns);
    Tensor tensor = codes.next(rows, columns);
    tensor.quantized = true;
    tensor.factors = factors.next(1, rows).offset;
    return tensor;
  };
  const bool norm_bias = shape.norm == NormKind::layer, bias = shape.has_all_biases();
  const auto end_section = [&] {
    if (const Section section = place.end_section(); section.elements() > 0) {
      p.sections.push_back(section);
    }
  };
  p.embedding = place.next(layout.shard.ranks * heads_rows, c);
  p.positions = place.next(shape.position == PositionKind::learned ? shape.positions : 0, c);
  end_section();
  for (std::int64_t i = 0; i < shape.layers; ++i) {
    LayerParameters layer;
    layer.norm1_weight = vector(true, c);
    layer.norm1_bias = vector(norm_bias, c);
    layer.qkv = matrix(shape.qkv_width(), c);
    layer.qkv_bias = vector(shape.has_qkv_bias(), shape.qkv_width());
    layer.query_norm = vector(shape.head_norms, d);
    layer.key_norm = vector(shape.head_norms, d);
    layer.proj = matrix(c, shape.query_width());
    layer.proj_bias = vector(bias, c);
    layer.norm2_weight = vector(true, c);
    layer.norm2_bias = vector(norm_bias, c);
    layer.up = matrix(shape.up_width(), c);
    layer.up_bias = vector(bias, shape.up_width());
    layer.down = matrix(c, shape.hidden);
    layer.down_bias = vector(bias, c);
    p.layers.push_back(layer);
    if (i + 1 == shape.layers) {
      p.norm_weight = vector(true, c);
      p.norm_bias = vector(norm_bias, c);
    }
    end_section();
  }
  p.head = p.tied ? p.embedding.rows_from(layout.shard.rank * heads_rows, heads_rows)
                  : matrix(heads_rows, c);
  end_section();
  p.elements = place.used();
  p.codes = codes.used();
  p.factors = factors.used();
  return p;
}

std::vector<NamedTensor> TransformerParameters::named() const {
  std::vector<NamedTensor> all;
  const auto add = [&](std::string name, const Tensor& tensor) {
    if (tensor.elements() > 0) all.push_back({.name = std::move(name), .tensor = tensor});
  };
  add("embedding", embedding);
  add("positions", positions);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const LayerParameters& layer = layers[i];
    const auto add_of_layer = [&](std::string_view name, const Tensor& tensor) {
      add(fmt::format("layers.{}.{}", i, name), tensor);
    };
    add_of_layer("norm1_weight", layer.norm1_weight);
    add_of_layer("norm1_bias", layer.norm1_bias);
    add_of_layer("qkv", layer.qkv);
    add_of_layer("qkv_bias", layer.qkv_bias);
    add_of_layer("query_norm", layer.query_norm);
    add_of_layer("key_norm", layer.key_norm);
    add_of_layer("proj", layer.proj);
    add_of_layer("proj_bias", layer.proj_bias);
    add_of_layer("norm2_weight", layer.norm2_weight);
    add_of_layer("norm2_bias", layer.norm2_bias);
    add_of_layer(gated ? "gate_up" : "fc", layer.up);
    add_of_layer(gated ? "gate_up_bias" : "fc_bias", layer.up_bias);
    add_of_layer(gated ? "down" : "fc2", layer.down);
    add_of_layer(gated ? "down_bias" : "fc2_bias", layer.down_bias);
  }
  add("norm_weight", norm_weight);
  add("norm_bias", norm_bias);
  if (!tied) add("head", head);
  return all;
}

std::vector<Tensor> TransformerParameters::matrices() const {
  std::vector<Tensor> all;
  for (const LayerParameters& layer : layers) {
    all.insert(all.end(), {layer.qkv, layer.proj, layer.up, layer.down});
  }
  return all;
}

}  // namespace assay

// Writes a model in Hugging Face's format, as the transformers package does, for tests that read
// one.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "core/json.h"
#include "core/write_file.h"
#include "model/tensors/safetensors.h"
#include "model/transformer/transformer_parameters.h"
#include "support/model_config.h"
#include "support/temporary_folder.h"

namespace assay {

/// A tensor of a model with its numbers.
struct ModelTensor {
  std::string name;
  std::vector<std::int64_t> shape;
  std::vector<float> numbers;
};

/// `weights` are laid out as in TransformerParameters::of(shape).
inline std::vector<ModelTensor> model_tensors(const TransformerShape& shape,
                                              const std::vector<float>& weights) {
  const TransformerParameters w = TransformerParameters::of(shape);
  std::vector<ModelTensor> all;
  const auto add = [&](std::string name, std::vector<std::int64_t> extents, std::size_t begin) {
    std::int64_t count = 1;
    for (const std::int64_t extent : extents) count *= extent;
    const auto first = weights.begin() + static_cast<std::ptrdiff_t>(begin);
    all.push_back({std::move(name), std::move(extents), {first, first + count}});
  };
  const std::int64_t c = shape.width, f = shape.hidden, v = shape.vocabulary, d = shape.head_width,
                     q = shape.heads * d, kv = shape.kv_heads * d;
  const auto rows = [&](std::int64_t count) { return static_cast<std::size_t>(count * c); };
  if (!shape.tied) add("lm_head.weight", {v, c}, w.head.offset);
  add("model.embed_tokens.weight", {v, c}, w.embedding.offset);
  for (std::size_t i = 0; i < w.layers.size(); ++i) {
    const LayerParameters& layer = w.layers[i];
    const std::string prefix = "model.layers." + std::to_string(i) + ".";
    add(prefix + "input_layernorm.weight", {c}, layer.norm1_weight.offset);
    add(prefix + "mlp.down_proj.weight", {c, f}, layer.down.offset);
    add(prefix + "mlp.gate_proj.weight", {f, c}, layer.up.offset);
    add(prefix + "mlp.up_proj.weight", {f, c}, layer.up.offset + rows(f));
    add(prefix + "post_attention_layernorm.weight", {c}, layer.norm2_weight.offset);
    const std::string attention = prefix + "self_attn.";
    add(attention + "q_proj.weight", {q, c}, layer.qkv.offset);
    add(attention + "k_proj.weight", {kv, c}, layer.qkv.offset + rows(q));
    add(attention + "v_proj.weight", {kv, c}, layer.qkv.offset + rows(q + kv));
    add(attention + "o_proj.weight", {c, q}, layer.proj.offset);
    if (shape.has_qkv_bias()) {
      const auto bias = [&](std::int64_t first) {
        return layer.qkv_bias.offset + static_cast<std::size_t>(first);
      };
      add(attention + "q_proj.bias", {q}, bias(0));
      add(attention + "k_proj.bias", {kv}, bias(q));
      add(attention + "v_proj.bias", {kv}, bias(q + kv));
    }
    if (shape.head_norms) {
      add(attention + "q_norm.weight", {d}, layer.query_norm.offset);
      add(attention + "k_norm.weight", {d}, layer.key_norm.offset);
    }
  }
  add("model.norm.weight", {c}, w.norm_weight.offset);
  return all;
}

/// Returns a file with these tensors as f32, bf16 or f16; numbers are rounded to that type.
inline TensorFile tensor_file(const std::vector<ModelTensor>& tensors, DataType type) {
  std::vector<StoredTensor> stored;
  for (const ModelTensor& tensor : tensors) stored.push_back({tensor.name, type, tensor.shape});
  TensorFile file = lay_out_tensors(std::move(stored), {{"format", "pt"}});
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    char* to = file.data(file.tensors[i]);
    for (const float x : tensors[i].numbers) {
      if (type == DataType::f32) {
        std::memcpy(to, &x, 4);
      } else if (type == DataType::bf16) {
        const auto bits = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(x) >> 16);
        std::memcpy(to, &bits, 2);
      } else {
        const auto half = static_cast<_Float16>(x);
        std::memcpy(to, &half, 2);
      }
      to += size_of(type);
    }
  }
  return file;
}

/// Writes config.json and the tensors, in one file or in `shards`.
inline void write_model(const TemporaryFolder& folder, const TransformerShape& shape,
                        const std::vector<ModelTensor>& tensors, DataType type,
                        std::size_t shards = 1) {
  folder.write("config.json", config_of(shape).dump(2));
  if (shards == 1) {
    folder.write("model.safetensors", tensor_file(tensors, type).bytes);
    return;
  }
  Json map = Json::object();
  for (std::size_t s = 0; s < shards; ++s) {
    const std::string name = "model-" + std::to_string(s) + ".safetensors";
    std::vector<ModelTensor> part;
    for (std::size_t i = s; i < tensors.size(); i += shards) {
      part.push_back(tensors[i]);
      map[tensors[i].name] = name;
    }
    folder.write(name, tensor_file(part, type).bytes);
  }
  folder.write("model.safetensors.index.json", Json{{"weight_map", map}}.dump());
}

}  // namespace assay

// The config.json of a model in Hugging Face's format, for tests and benchmarks that write one.
#pragma once

#include "core/json.h"
#include "model/transformer/transformer_shape.h"

namespace assay {

inline Json config_of(const TransformerShape& shape) {
  Json config = {{"model_type", shape.head_norms       ? "qwen3"
                                : shape.has_qkv_bias() ? "qwen2"
                                                       : "llama"},
                 {"hidden_act", "silu"},
                 {"hidden_size", shape.width},
                 {"intermediate_size", shape.hidden},
                 {"num_hidden_layers", shape.layers},
                 {"num_attention_heads", shape.heads},
                 {"num_key_value_heads", shape.kv_heads},
                 {"head_dim", shape.head_width},
                 {"vocab_size", shape.vocabulary},
                 {"rms_norm_eps", shape.norm_epsilon},
                 {"rope_theta", shape.rope_theta},
                 {"rope_scaling", nullptr},
                 {"tie_word_embeddings", shape.tied},
                 {"torch_dtype", "bfloat16"}};
  if (shape.positions > 0) config["max_position_embeddings"] = shape.positions;
  if (shape.rope_scaling) {
    config["rope_scaling"] = {
        {"rope_type", "llama3"},
        {"factor", shape.rope_scaling->factor},
        {"low_freq_factor", shape.rope_scaling->low_frequency},
        {"high_freq_factor", shape.rope_scaling->high_frequency},
        {"original_max_position_embeddings", shape.rope_scaling->original_positions}};
  }
  return config;
}

}  // namespace assay

// config.json of models as decoders' shapes, and which are refused.
#include "model/transformer/decoder_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/transformer/named_shapes.h"
#include "support/damaged_json.h"
#include "support/model_folder.h"

namespace assay {
namespace {

using testing::HasSubstr;

TransformerShape small(const char* text = "2L4H2K32D64C96F131V") {
  return parse_decoder_shape(text).value();
}

/// llama with one member replaced.
Json with(const char* key, Json value) {
  Json config = config_of(small());
  config[key] = std::move(value);
  return config;
}

std::string refusal_of(const Json& config) {
  const auto shape = parse_decoder_config(config.dump());
  return shape.ok() ? "accepted" : shape.error().message;
}

TEST(DecoderConfig, ReadsEachKindOfModel) {
  TransformerShape llama = small(), qwen3 = small("2L4H2K64D64C96F131V"), qwen2 = small();
  llama.rope_scaling = RopeScaling{.factor = 32, .original_positions = 4096};
  qwen3.head_norms = qwen3.tied = true;
  qwen3.norm_epsilon = 1e-6;
  qwen2.biases = Biases::qkv;
  qwen2.rope_theta = 1e6;
  for (const TransformerShape& shape : {llama, qwen3, qwen2}) {
    const auto read = parse_decoder_config(config_of(shape).dump());
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(*read, shape);
  }
}

TEST(DecoderConfig, KnowsWhatIsLeftOut) {
  Json config = config_of(small());
  for (const char* key : {"num_key_value_heads", "head_dim", "rms_norm_eps", "rope_theta",
                          "rope_scaling", "tie_word_embeddings", "hidden_act"}) {
    config.erase(key);
  }
  TransformerShape expected = small();
  expected.kv_heads = 4;
  expected.head_width = 16;
  expected.norm_epsilon = 1e-6;
  expected.rope_theta = 10000;
  const auto read = parse_decoder_config(config.dump());
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(*read, expected);
  config["model_type"] = "qwen3";
  EXPECT_EQ(parse_decoder_config(config.dump()).value().head_width, 128);
}

TEST(DecoderConfig, ReadsRotaryPositionsOfTransformers5) {
  Json config = config_of(small());
  config.erase("rope_theta");
  config.erase("rope_scaling");
  config["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", 123456.0}};
  EXPECT_EQ(parse_decoder_config(config.dump()).value().rope_theta, 123456);
  config["rope_parameters"] = {
      {"rope_type", "llama3"},   {"rope_theta", 500000.0},
      {"factor", 8.0},           {"low_freq_factor", 1.0},
      {"high_freq_factor", 4.0}, {"original_max_position_embeddings", 8192}};
  EXPECT_EQ(parse_decoder_config(config.dump()).value().rope_scaling, RopeScaling{});
}

/// Qwen3-8B-FP8's config.json and those of llm-compressor have this.
TEST(DecoderConfig, KnowsTheQuantizationOfPublishedCheckpoints) {
  const Json numbers = {{"num_bits", 8}, {"type", "float"}, {"symmetric", true}, {"dynamic", true}};
  Json weights = numbers, of_fp8 = {{"quant_method", "fp8"},
                                    {"activation_scheme", "dynamic"},
                                    {"fmt", "e4m3"},
                                    {"weight_block_size", {128, 128}}};
  weights["strategy"] = "channel";
  weights["block_structure"] = nullptr;
  const Json compressed = {{"quant_method", "compressed-tensors"},
                           {"format", "float-quantized"},
                           {"quantization_status", "compressed"},
                           {"ignore", {"lm_head"}},
                           {"kv_cache_scheme", nullptr},
                           {"config_groups",
                            {{"group_0",
                              {{"targets", {"Linear"}},
                               {"weights", weights},
                               {"input_activations", numbers},
                               {"output_activations", nullptr}}}}}};
  const auto refusal = [](const Json& quantized) {
    return refusal_of(with("quantization_config", quantized));
  };
  const auto changed = [&](const Json& from, const char* pointer, const Json& value) {
    Json to = from;
    to[Json::json_pointer(pointer)] = value;
    return refusal(to);
  };
  EXPECT_EQ(refusal(of_fp8), "accepted");
  EXPECT_EQ(changed(of_fp8, "/activation_scheme", "static"), "accepted");
  EXPECT_EQ(changed(of_fp8, "/weight_block_size", nullptr), "accepted");
  EXPECT_THAT(changed(of_fp8, "/weight_block_size", {64, 64}),
              HasSubstr("\"weight_block_size\": [64,64], allowed: null, [128,128]"));
  EXPECT_THAT(changed(of_fp8, "/fmt", "e5m2"), HasSubstr("\"fmt\": \"e5m2\""));
  EXPECT_THAT(changed(of_fp8, "/quant_method", "gptq"),
              HasSubstr("\"quant_method\": \"gptq\", allowed: \"fp8\", \"compressed-tensors\""));
  EXPECT_EQ(refusal(compressed), "accepted");
  EXPECT_EQ(changed(compressed, "/kv_cache_scheme", numbers), "accepted");
  EXPECT_EQ(changed(compressed, "/config_groups/group_0/input_activations", nullptr), "accepted");
  EXPECT_THAT(changed(compressed, "/format", "pack-quantized"), HasSubstr("pack-quantized"));
  EXPECT_THAT(changed(compressed, "/config_groups/group_0/weights/num_bits", 4),
              HasSubstr("\"weights.num_bits\": 4, allowed: 8"));
  EXPECT_THAT(changed(compressed, "/config_groups/group_0/weights/type", "int"),
              HasSubstr("\"weights.type\": \"int\""));
  EXPECT_THAT(changed(compressed, "/config_groups/group_0/weights/strategy", "group"),
              HasSubstr("\"weights.strategy\": \"group\""));
  EXPECT_THAT(changed(compressed, "/config_groups", Json::object()), HasSubstr("config_groups"));
  // Members that are not known may say nothing.
  EXPECT_EQ(changed(compressed, "/sparsity_config", Json::object()), "accepted");
  EXPECT_EQ(changed(of_fp8, "/scale_fmt", nullptr), "accepted");
  EXPECT_THAT(changed(of_fp8, "/scale_fmt", "ue8m0"), HasSubstr("\"scale_fmt\": \"ue8m0\""));
  EXPECT_THAT(changed(compressed, "/transform_config", {{"groups", 1}}),
              HasSubstr("\"transform_config\": {\"groups\":1}, allowed: null, false"));
  EXPECT_THAT(changed(compressed, "/config_groups/group_0/weights/group_size", 64),
              HasSubstr("\"group_size\": 64"));
}

TEST(DecoderConfig, RefusesWhatIsNotComputedByName) {
  EXPECT_EQ(refusal_of(config_of(small())), "accepted");
  EXPECT_THAT(refusal_of(with("model_type", "mixtral")), HasSubstr("\"model_type\": \"mixtral\""));
  EXPECT_THAT(refusal_of(with("hidden_act", "gelu")), HasSubstr("\"hidden_act\": \"gelu\""));
  EXPECT_THAT(refusal_of(with("attention_bias", true)), HasSubstr("attention_bias"));
  EXPECT_THAT(refusal_of(with("mlp_bias", true)), HasSubstr("mlp_bias"));
  EXPECT_THAT(refusal_of(with("use_sliding_window", true)), HasSubstr("use_sliding_window"));
  EXPECT_THAT(refusal_of(with("sliding_window", 4096)), HasSubstr("sliding_window"));
  EXPECT_THAT(refusal_of(with("num_local_experts", 8)), HasSubstr("num_local_experts"));
  EXPECT_THAT(refusal_of(with("quantization_config", {{"bits", 4}})),
              HasSubstr("\"quantization_config\" with \"quant_method\": null, allowed: \"fp8\""));
  EXPECT_THAT(refusal_of(with("partial_rotary_factor", 0.5)), HasSubstr("partial_rotary_factor"));
  EXPECT_THAT(refusal_of(with("layer_types", {"full_attention", "sliding_attention"})),
              HasSubstr("sliding_attention"));
  EXPECT_THAT(refusal_of(with("rope_scaling", {{"type", "linear"}, {"factor", 2}})),
              HasSubstr("linear"));
  EXPECT_THAT(refusal_of(with("rope_scaling", {{"rope_type", "llama3"}, {"factor", 8}})),
              HasSubstr("low_freq_factor"));
}

TEST(DecoderConfig, TrustsNoNumber) {
  EXPECT_THAT(refusal_of(with("hidden_size", -64)), HasSubstr("hidden_size"));
  EXPECT_THAT(refusal_of(with("hidden_size", 1e30)), HasSubstr("hidden_size"));
  EXPECT_THAT(refusal_of(with("num_attention_heads", 0)), HasSubstr("num_attention_heads"));
  EXPECT_THAT(refusal_of(with("num_attention_heads", "4")), HasSubstr("num_attention_heads"));
  EXPECT_THAT(refusal_of(with("vocab_size", nullptr)), HasSubstr("lacks \"vocab_size\""));
  EXPECT_THAT(refusal_of(with("vocab_size", std::uint64_t{1} << 63)), HasSubstr("vocab_size"));
  EXPECT_THAT(refusal_of(with("rms_norm_eps", 0)), HasSubstr("rms_norm_eps"));
  EXPECT_THAT(refusal_of(with("rms_norm_eps", 1e300)), HasSubstr("rms_norm_eps"));
  EXPECT_THAT(refusal_of(with("rope_theta", "big")), HasSubstr("rope_theta"));
  EXPECT_THAT(refusal_of(with("num_key_value_heads", 3)), HasSubstr("4 heads share 3"));
  EXPECT_THAT(refusal_of(with("num_hidden_layers", 5000)), HasSubstr("5000 layers"));
  EXPECT_THAT(refusal_of(Json::array()), HasSubstr("not an object"));
  EXPECT_THAT(refusal_of(with("tie_word_embeddings", "yes")), HasSubstr("tie_word_embeddings"));
}

TEST(DecoderConfig, SurvivesDamage) {
  TransformerShape shape = small();
  shape.rope_scaling = RopeScaling{};
  Json config = config_of(shape);
  config["layer_types"] = {"full_attention", "full_attention"};
  Random random(29);
  int refused = 0;
  for (int round = 0; round < 1000; ++round) {
    const auto read = parse_decoder_config(damaged(config, random).dump());
    refused += read.ok() ? 0 : 1;
    if (read.ok()) EXPECT_TRUE(validate(*read));
  }
  EXPECT_GT(refused, 300);
  EXPECT_LT(refused, 1000);
}

TEST(DecoderConfig, SequencesHaveAtMostItsPositions) {
  const Json config = with("max_position_embeddings", 100);
  const TransformerShape shape = parse_decoder_config(config.dump()).value();
  EXPECT_TRUE(check_positions(shape, "sequence=", 100));
  EXPECT_EQ(check_positions(shape, "sequence=", 101).error().message,
            "sequence=101 is more than the 100 positions of the model (max_position_embeddings); "
            "give at most 100, or a model with more positions");
  EXPECT_EQ(within_positions(shape, 101), 100);
  EXPECT_EQ(within_positions(shape, 99), 99);
  EXPECT_TRUE(check_positions(small(), "sequence=", 1 << 20));  // none are stated
  EXPECT_EQ(within_positions(small(), 1 << 20), 1 << 20);
  EXPECT_THAT(refusal_of(with("max_position_embeddings", 0)), HasSubstr("max_position_embeddings"));
  // Published models: one extended by its rotary scaling, one not.
  EXPECT_EQ(parse_decoder_shape("llama3.1-8b").value().positions, 131072);
  EXPECT_EQ(parse_decoder_shape("llama3-8b").value().positions, 8192);
}

TEST(DecoderConfig, IsTheModelThatIsNamed) {
  const TransformerShape llama = parse_decoder_shape("llama3-8b").value();
  EXPECT_EQ(decoder_shape_text(llama), "llama3-8b");
  EXPECT_EQ(decoder_shape_text(small()), "2L4H2K32D64C96F131V");
  EXPECT_TRUE(check_decoder_shape(llama, "llama3-8b"));
  EXPECT_THAT(check_decoder_shape(llama, "llama3.1-8b").error().message, HasSubstr("rotary"));
  EXPECT_THAT(check_decoder_shape(llama, "llama3-70b").error().message, HasSubstr("layers: 32"));
  TransformerShape tuned = parse_decoder_shape("qwen2.5-7b").value();
  tuned.positions = 32768;  // as its instruct variant
  EXPECT_EQ(decoder_shape_text(tuned), "qwen2.5-7b");
  EXPECT_TRUE(check_decoder_shape(tuned, "qwen2.5-7b"));
  TransformerShape biased = small();
  biased.biases = Biases::qkv;  // letters say nothing about it
  EXPECT_TRUE(check_decoder_shape(biased, "2L4H2K32D64C96F131V"));
}

}  // namespace
}  // namespace assay

#include "model/transformer/decoder_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>
#include <utility>

#include "core/json.h"
#include "core/json_text.h"
#include "core/read_file.h"
#include "core/shown_text.h"
#include "model/transformer/named_shapes.h"
#include "model/transformer/quantization_config.h"

namespace assay {
namespace {

Error wrong_config(std::string what) {
  return {ErrorKind::usage, std::move(what)};
}

std::string shown(const Json& value) {
  return shown_line(value.dump(-1, ' ', false, Json::error_handler_t::replace), 80);
}

/// Members of an object, of which null counts as absent.
class Members {
 public:
  explicit Members(const Json& object) : object_(&object) {}

  const Json* find(const char* key) const {
    const auto found = object_->find(key);
    return found == object_->end() || found->is_null() ? nullptr : &*found;
  }
  /// A whole number from 1 on. Error: if it is absent and has no value then.
  Result<std::int64_t> count(const char* key, std::optional<std::int64_t> otherwise = {},
                             std::uint64_t most = 1 << 20) const {
    const Json* const value = find(key);
    if (value == nullptr) {
      if (otherwise) return *otherwise;
      return wrong_config(fmt::format("lacks \"{}\"", key));
    }
    if (!value->is_number_unsigned() || value->get<std::uint64_t>() < 1 ||
        value->get<std::uint64_t>() > most) {
      return refuse(key, fmt::format("whole numbers from 1 to {}", most));
    }
    return value->get<std::int64_t>();
  }
  /// A number above 0.
  Result<double> number(const char* key, std::optional<double> otherwise) const {
    const Json* const value = find(key);
    if (value == nullptr) {
      if (otherwise) return *otherwise;
      return wrong_config(fmt::format("lacks \"{}\"", key));
    }
    const double number = value->is_number() ? value->get<double>() : 0;
    if (!(number > 0) || !std::isfinite(number)) return refuse(key, "numbers above 0");
    return number;
  }
  Result<bool> boolean(const char* key) const {
    const Json* const value = find(key);
    if (value == nullptr) return false;
    if (!value->is_boolean()) return refuse(key, "true and false");
    return value->get<bool>();
  }
  /// The value of `key` is not computed.
  Error refuse(const char* key, std::string_view allowed) const {
    return wrong_config(
        fmt::format("has \"{}\": {}, allowed: {}", key, shown(*find(key)), allowed));
  }

 private:
  const Json* object_;
};

/// What would change the numbers, and is not computed.
Status check_features(const Members& config, const std::string& type) {
  if (const Json* function = config.find("hidden_act"); function && *function != "silu") {
    return config.refuse("hidden_act", "\"silu\"");
  }
  for (const char* key : {"mlp_bias", "use_sliding_window"}) {
    if (TRY(config.boolean(key))) return config.refuse(key, "false");
  }
  if (type != "qwen2" && TRY(config.boolean("attention_bias"))) {
    return config.refuse("attention_bias", "false");
  }
  if (type == "llama" && config.find("sliding_window")) {
    return config.refuse("sliding_window", "null");
  }
  for (const char* key : {"num_experts", "num_local_experts"}) {
    if (config.find(key)) return config.refuse(key, "none");
  }
  if (const Json* quantized = config.find("quantization_config")) {
    TRY(check_quantization_config(*quantized));
  }
  if (const Json* part = config.find("partial_rotary_factor"); part && *part != 1) {
    return config.refuse("partial_rotary_factor", "1");
  }
  if (const Json* layers = config.find("layer_types")) {
    if (!layers->is_array()) return config.refuse("layer_types", "a list");
    for (const Json& layer : *layers) {
      if (layer != "full_attention") {
        return wrong_config(
            fmt::format("has a layer of type {}, allowed: \"full_attention\"", shown(layer)));
      }
    }
  }
  return {};
}

/// Rotary positions: "rope_theta" and "rope_scaling", or both in "rope_parameters", as transformers
/// 5 writes them.
Status read_rope(TransformerShape& shape, const Members& config) {
  const Json* given = config.find("rope_parameters");
  const char* const key = given ? "rope_parameters" : "rope_scaling";
  if (given == nullptr) given = config.find(key);
  if (given && !given->is_object()) return config.refuse(key, "an object");
  const Json none = Json::object();
  const Members rope(given ? *given : none);
  constexpr double usual_theta = 10000;
  const double outside = TRY(config.number("rope_theta", usual_theta));
  shape.rope_theta = TRY(rope.number("rope_theta", outside));
  const char* const type_key = rope.find("rope_type") ? "rope_type" : "type";
  const Json* const type = rope.find(type_key);
  if (type == nullptr || *type == "default") return {};
  if (*type != "llama3") return rope.refuse(type_key, "\"default\" and \"llama3\"");
  RopeScaling& scaling = shape.rope_scaling.emplace();
  scaling.factor = TRY(rope.number("factor", {}));
  scaling.low_frequency = TRY(rope.number("low_freq_factor", {}));
  scaling.high_frequency = TRY(rope.number("high_freq_factor", {}));
  scaling.original_positions = TRY(rope.number("original_max_position_embeddings", {}));
  if (!(scaling.low_frequency < scaling.high_frequency)) {
    return rope.refuse("low_freq_factor", "less than high_freq_factor");
  }
  return {};
}

/// Returns whether both are one model. Variants of a model state other limits of positions.
bool is_same_model(TransformerShape shape, const TransformerShape& named) {
  shape.positions = named.positions;
  return shape == named;
}

/// The numbers that letters give, for people: "2 layers".
std::optional<std::string> first_difference(const TransformerShape& a, const TransformerShape& b) {
  const std::tuple<const char*, std::int64_t, std::int64_t> numbers[] = {
      {"layers", a.layers, b.layers},
      {"heads", a.heads, b.heads},
      {"heads of keys", a.kv_heads, b.kv_heads},
      {"elements of a head", a.head_width, b.head_width},
      {"width", a.width, b.width},
      {"hidden width", a.hidden, b.hidden},
      {"vocabulary", a.vocabulary, b.vocabulary}};
  for (const auto& [what, left, right] : numbers) {
    if (left != right) return fmt::format("{}: {} and {}", what, left, right);
  }
  return std::nullopt;
}

}  // namespace

Result<TransformerShape> parse_decoder_config(std::string_view text) {
  const Json json = TRY(parse_json(text));
  if (!json.is_object()) return wrong_config("is not an object");
  const Members config(json);
  const Json* const given_type = config.find("model_type");
  const std::string type =
      given_type && given_type->is_string() ? given_type->get<std::string>() : "";
  if (type != "llama" && type != "qwen2" && type != "qwen3") {
    if (given_type == nullptr) return wrong_config("lacks \"model_type\"");
    return config.refuse("model_type", "\"llama\", \"qwen2\" and \"qwen3\"");
  }
  TRY(check_features(config, type));
  TransformerShape shape;
  shape.layers = TRY(config.count("num_hidden_layers"));
  shape.heads = TRY(config.count("num_attention_heads"));
  shape.kv_heads = TRY(config.count("num_key_value_heads", shape.heads));
  shape.width = TRY(config.count("hidden_size"));
  constexpr std::int64_t head_of_qwen3 = 128;
  shape.head_width =
      TRY(config.count("head_dim", type == "qwen3" ? head_of_qwen3 : shape.width / shape.heads));
  shape.hidden = TRY(config.count("intermediate_size"));
  shape.vocabulary = TRY(config.count("vocab_size"));
  constexpr double usual_epsilon = 1e-6;
  shape.norm_epsilon = TRY(config.number("rms_norm_eps", usual_epsilon));
  if (shape.norm_epsilon > 1) return config.refuse("rms_norm_eps", "numbers above 0 up to 1");
  shape.tied = TRY(config.boolean("tie_word_embeddings"));
  shape.head_norms = type == "qwen3";
  shape.biases = type == "qwen2" ? Biases::qkv : Biases::none;
  constexpr std::uint64_t most_positions = 1 << 30;
  shape.positions = TRY(config.count("max_position_embeddings", 0, most_positions));
  TRY(read_rope(shape, config));
  TRY(validate_decoder(shape));
  return shape;
}

Result<TransformerShape> read_decoder_config(const std::filesystem::path& folder) {
  constexpr std::size_t most = 1 << 20;
  const std::filesystem::path path = folder / "config.json";
  const std::string text = TRY(read_operand(path, most));
  auto shape = parse_decoder_config(text);
  if (!shape.ok()) return wrong_config(fmt::format("{}: {}", path.string(), shape.error().message));
  return shape;
}

std::string decoder_shape_text(const TransformerShape& shape) {
  for (const std::string& name : decoder_names()) {
    if (is_same_model(shape, parse_decoder_shape(name).value())) return name;
  }
  return fmt::format("{}L{}H{}K{}D{}C{}F{}V", shape.layers, shape.heads, shape.kv_heads,
                     shape.head_width, shape.width, shape.hidden, shape.vocabulary);
}

Status check_decoder_shape(const TransformerShape& shape, std::string_view model) {
  const TransformerShape expected = TRY(parse_decoder_shape(model));
  if (const auto difference = first_difference(shape, expected)) {
    return wrong_config(fmt::format("is not of model {}: {}", model, *difference));
  }
  const bool named =
      std::ranges::find(decoder_names(), std::string(model)) != decoder_names().end();
  if (named && !is_same_model(shape, expected)) {
    return wrong_config(
        fmt::format("is not of model {}: norms, biases, rotary positions or a tied head "
                    "differ; leave model out",
                    model));
  }
  return {};
}

}  // namespace assay

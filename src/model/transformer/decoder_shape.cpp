#include "model/transformer/decoder_shape.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/suggest.h"
#include "model/operations/norm_shape.h"
#include "model/operations/paged_attention.h"
#include "model/transformer/lettered_numbers.h"

namespace assay {
namespace {

struct NamedDecoder {
  const char* name;
  DecoderShape shape;
};

DecoderShape llama3(std::int64_t layers, std::int64_t width, std::int64_t heads,
                    std::int64_t hidden) {
  return {.layers = layers,
          .heads = heads,
          .kv_heads = 8,
          .head_width = 128,
          .width = width,
          .hidden = hidden,
          .vocabulary = 128256,
          .rope_scaling = std::nullopt};
}

DecoderShape llama31(DecoderShape shape) {
  shape.rope_scaling = RopeScaling{};
  return shape;
}

DecoderShape llama32(DecoderShape shape) {
  shape.rope_scaling = RopeScaling{.factor = 32};
  shape.tied = true;
  return shape;
}

DecoderShape qwen3(std::int64_t layers, std::int64_t width, std::int64_t heads, std::int64_t hidden,
                   bool tied) {
  return {.layers = layers,
          .heads = heads,
          .kv_heads = 8,
          .head_width = 128,
          .width = width,
          .hidden = hidden,
          .vocabulary = 151936,
          .norm_epsilon = 1e-6,
          .rope_theta = 1e6,
          .rope_scaling = std::nullopt,
          .head_norms = true,
          .tied = tied};
}

/// From the models' config.json.
const std::vector<NamedDecoder>& named_decoders() {
  static const std::vector<NamedDecoder> all = [] {
    DecoderShape one = llama32(llama3(16, 2048, 32, 8192));
    one.head_width = 64;
    const DecoderShape eight = llama3(32, 4096, 32, 14336), seventy = llama3(80, 8192, 64, 28672);
    DecoderShape qwen2 = qwen3(24, 896, 14, 4864, true);
    qwen2.kv_heads = 2;
    qwen2.head_width = 64;
    qwen2.head_norms = false;
    qwen2.qkv_bias = true;
    return std::vector<NamedDecoder>{
        {"llama3.2-1b", one},
        {"llama3.2-3b", llama32(llama3(28, 3072, 24, 8192))},
        {"llama3-8b", eight},
        {"llama3.1-8b", llama31(eight)},
        {"llama3-70b", seventy},
        {"llama3.1-70b", llama31(seventy)},
        {"qwen3-0.6b", qwen3(28, 1024, 16, 3072, true)},
        {"qwen3-1.7b", qwen3(28, 2048, 16, 6144, true)},
        {"qwen3-4b", qwen3(36, 2560, 32, 9728, true)},
        {"qwen3-8b", qwen3(36, 4096, 32, 12288, false)},
        {"qwen3-14b", qwen3(40, 5120, 40, 17408, false)},
        {"qwen3-32b", qwen3(64, 5120, 64, 25600, false)},
        {"qwen2-0.5b", qwen2},
    };
  }();
  return all;
}

Error not_a_decoder(std::string_view text, std::string_view why) {
  return {ErrorKind::usage,
          fmt::format("model \"{}\" {}; allowed: {}, or numbers with letters such as "
                      "2L4H2K64D256C (layers, heads, heads of keys, their width, width; also F "
                      "hidden width, V vocabulary){}",
                      text, why, fmt::join(decoder_names(), ", "),
                      did_you_mean(text, decoder_names()))};
}

double number(std::int64_t x) {
  return static_cast<double>(x);
}

}  // namespace

double DecoderShape::layer_products() const {
  return number(layers) * number(width) * number(qkv_width() + query_width() + 3 * hidden);
}

double DecoderShape::head_products() const {
  return number(vocabulary) * number(width);
}

double DecoderShape::outputs() const {
  return number(layers) * number(qkv_width() + 2 * width + 2 * hidden) + number(vocabulary);
}

double DecoderShape::parameters() const {
  const double norms = 2 * number(width) + (head_norms ? 2 * number(head_width) : 0);
  const double biases = qkv_bias ? number(qkv_width()) : 0;
  return layer_products() + number(layers) * (norms + biases) + number(width) +
         (tied ? 1 : 2) * head_products();
}

double DecoderShape::flops(double tokens, double before) const {
  const double pairs = tokens * before + tokens * (tokens + 1) / 2;
  return 2 * layer_products() * tokens + 2 * head_products() +
         4 * number(layers) * number(query_width()) * pairs;
}

double DecoderShape::cache_elements() const {
  return 2 * number(layers) * number(kv_width());
}

const std::vector<std::string>& decoder_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const NamedDecoder& known : named_decoders()) all.emplace_back(known.name);
    return all;
  }();
  return names;
}

Result<DecoderShape> parse_decoder_shape(std::string_view text) {
  for (const NamedDecoder& known : named_decoders()) {
    if (text == known.name) return known.shape;
  }
  const auto numbers = parse_lettered_numbers(text, "LHKDCFV");
  if (!numbers.ok()) return not_a_decoder(text, numbers.error().message);
  const auto given = [&](char letter, std::int64_t otherwise) {
    const auto found = numbers->find(letter);
    return found == numbers->end() ? otherwise : found->second;
  };
  DecoderShape shape;
  shape.layers = given('L', 0);
  shape.heads = given('H', 0);
  shape.width = given('C', 0);
  if (shape.layers == 0 || shape.heads == 0 || shape.width == 0) {
    return not_a_decoder(text, "lacks layers (L), heads (H) or width (C)");
  }
  shape.kv_heads = given('K', shape.heads);
  shape.head_width = given('D', shape.width / shape.heads);
  shape.hidden = given('F', 4 * shape.width);
  shape.vocabulary = given('V', 32000);
  TRY(validate(shape));
  return shape;
}

Status validate(const DecoderShape& shape) {
  constexpr std::int64_t most_layers = 4096;
  const auto wrong = [](const std::string& what) -> Status {
    return Error{ErrorKind::usage, what};
  };
  for (const auto& [what, value] : {std::pair{"layers", shape.layers},
                                    {"heads", shape.heads},
                                    {"heads of keys", shape.kv_heads},
                                    {"width", shape.width},
                                    {"hidden width", shape.hidden}}) {
    if (value < 1) return wrong(fmt::format("{} {}, at least 1 is needed", value, what));
  }
  if (shape.layers > most_layers) {
    return wrong(fmt::format("{} layers, allowed are {}", shape.layers, most_layers));
  }
  if (shape.vocabulary < 2) return wrong("the vocabulary needs at least 2 tokens");
  // Rows of 16 bytes, as every kernel and matrix library reads them.
  if (shape.width % 8 != 0 || shape.hidden % 8 != 0) {
    return wrong(fmt::format("width {} and hidden width {}, allowed are multiples of 8",
                             shape.width, shape.hidden));
  }
  if (const auto reason =
          PagedAttention::unsupported({shape.heads, shape.kv_heads, shape.head_width})) {
    return wrong(*reason);
  }
  return validate_norm(shape.width);
}

Status validate_quantized(const DecoderShape& shape) {
  if (shape.width % 16 == 0 && shape.hidden % 16 == 0) return {};
  return Error{ErrorKind::usage,
               fmt::format("width {} and hidden width {}, allowed with quantized matrices are "
                           "multiples of 16",
                           shape.width, shape.hidden)};
}

std::vector<double> rotary_frequencies(const DecoderShape& shape) {
  std::vector<double> frequencies;
  for (std::int64_t i = 0; i < shape.head_width / 2; ++i) {
    double f = std::pow(shape.rope_theta, -2 * number(i) / number(shape.head_width));
    if (shape.rope_scaling) {
      const RopeScaling& s = *shape.rope_scaling;
      // How often it turns in the original positions.
      const double turns = s.original_positions * f / (2 * std::numbers::pi);
      const double kept =
          std::clamp((turns - s.low_frequency) / (s.high_frequency - s.low_frequency), 0.0, 1.0);
      f *= kept + (1 - kept) / s.factor;
    }
    frequencies.push_back(f);
  }
  return frequencies;
}

}  // namespace assay

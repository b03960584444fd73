#include "model/transformer/named_shapes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <map>
#include <optional>

#include "core/suggest.h"
#include "model/transformer/lettered_numbers.h"

namespace assay {
namespace {

struct NamedShape {
  const char* name;
  TransformerShape shape;
};

TransformerShape gpt(std::int64_t layers, std::int64_t heads, std::int64_t width,
                     std::int64_t hidden, std::int64_t vocabulary = 50257) {
  return {.layers = layers,
          .heads = heads,
          .kv_heads = heads,
          .head_width = width / heads,
          .width = width,
          .hidden = hidden,
          .vocabulary = vocabulary,
          .norm = NormKind::layer,
          .position = PositionKind::learned,
          .activation = ActivationKind::gelu,
          .biases = Biases::all,
          .tied = true};
}

constexpr std::int64_t long_context = 131072;  // positions

TransformerShape llama3(std::int64_t layers, std::int64_t width, std::int64_t heads,
                        std::int64_t hidden) {
  return {.layers = layers,
          .heads = heads,
          .kv_heads = 8,
          .head_width = 128,
          .width = width,
          .hidden = hidden,
          .vocabulary = 128256,
          .positions = 8192};
}

TransformerShape llama31(TransformerShape shape) {
  shape.rope_scaling = RopeScaling{};
  shape.positions = long_context;
  return shape;
}

TransformerShape llama32(TransformerShape shape) {
  shape.rope_scaling = RopeScaling{.factor = 32};
  shape.positions = long_context;
  shape.tied = true;
  return shape;
}

TransformerShape qwen3(std::int64_t layers, std::int64_t width, std::int64_t heads,
                       std::int64_t hidden, bool tied) {
  return {.layers = layers,
          .heads = heads,
          .kv_heads = 8,
          .head_width = 128,
          .width = width,
          .hidden = hidden,
          .vocabulary = 151936,
          .norm_epsilon = 1e-6,
          .positions = 40960,
          .rope_theta = 1e6,
          .head_norms = true,
          .tied = tied};
}

TransformerShape qwen2(std::int64_t layers, std::int64_t width, std::int64_t heads,
                       std::int64_t kv_heads, std::int64_t hidden, bool tied,
                       std::int64_t positions) {
  TransformerShape shape = qwen3(layers, width, heads, hidden, tied);
  shape.kv_heads = kv_heads;
  shape.head_width = width / heads;
  shape.head_norms = false;
  shape.biases = Biases::qkv;
  shape.positions = positions;
  return shape;
}

const std::vector<NamedShape>& named_gpts() {
  static const std::vector<NamedShape> all = {
      {"30M", gpt(6, 6, 384, 1536)},     {"124M", gpt(12, 12, 768, 3072)},
      {"354M", gpt(24, 16, 1024, 4096)}, {"773M", gpt(36, 20, 1280, 5120)},
      {"1.5B", gpt(48, 24, 1536, 6144)}, {"3B", gpt(32, 32, 2560, 10240)},
      {"7B", gpt(32, 32, 4096, 11008)},  {"13B", gpt(40, 40, 5120, 13824)},
  };
  return all;
}

/// From the config.json of the models, and of Qwen2 and Qwen2.5 those without instruction tuning.
const std::vector<NamedShape>& named_decoders() {
  static const std::vector<NamedShape> all = [] {
    TransformerShape one = llama32(llama3(16, 2048, 32, 8192));
    one.head_width = 64;
    const TransformerShape eight = llama3(32, 4096, 32, 14336),
                           seventy = llama3(80, 8192, 64, 28672);
    TransformerShape seven = qwen2(28, 3584, 28, 4, 18944, false, long_context);
    seven.vocabulary = 152064;
    return std::vector<NamedShape>{
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
        {"qwen2-0.5b", qwen2(24, 896, 14, 2, 4864, true, long_context)},
        {"qwen2.5-0.5b", qwen2(24, 896, 14, 2, 4864, true, 32768)},
        {"qwen2.5-1.5b", qwen2(28, 1536, 12, 2, 8960, true, long_context)},
        {"qwen2.5-3b", qwen2(36, 2048, 16, 2, 11008, true, 32768)},
        {"qwen2.5-7b", seven},
    };
  }();
  return all;
}

std::vector<std::string> names_of(const std::vector<NamedShape>& shapes) {
  std::vector<std::string> names;
  for (const NamedShape& shape : shapes) names.emplace_back(shape.name);
  return names;
}

std::optional<TransformerShape> find_shape(const std::vector<NamedShape>& shapes,
                                           std::string_view name) {
  for (const NamedShape& known : shapes) {
    if (name == known.name) return known.shape;
  }
  return std::nullopt;
}

Error not_a_shape(std::string_view text, std::string_view why,
                  const std::vector<std::string>& names, std::string_view letters) {
  return {ErrorKind::usage,
          fmt::format("model \"{}\"{} {}; allowed: {}, or numbers with letters such as {}", text,
                      did_you_mean(text, names), why, fmt::join(names, ", "), letters)};
}

/// The numbers of a shape by their letters.
class Lettered {
 public:
  static Result<Lettered> parse(std::string_view text, std::string_view letters) {
    Lettered made;
    made.numbers_ = TRY(parse_lettered_numbers(text, letters));
    for (const char needed : {'L', 'H', 'C'}) {
      if (!made.numbers_.contains(needed)) {
        return Error{ErrorKind::usage, "lacks layers (L), heads (H) or width (C)"};
      }
    }
    return made;
  }
  std::int64_t operator()(char letter, std::int64_t otherwise = 0) const {
    const auto found = numbers_.find(letter);
    return found == numbers_.end() ? otherwise : found->second;
  }

 private:
  std::map<char, std::int64_t> numbers_;
};

}  // namespace

const std::vector<std::string>& gpt_names() {
  static const std::vector<std::string> names = names_of(named_gpts());
  return names;
}

const std::vector<std::string>& decoder_names() {
  static const std::vector<std::string> names = names_of(named_decoders());
  return names;
}

Result<TransformerShape> parse_gpt_shape(std::string_view text) {
  if (const auto known = find_shape(named_gpts(), text)) return *known;
  const auto number = Lettered::parse(text, "LHCFV");
  if (!number.ok()) {
    return not_a_shape(text, number.error().message, gpt_names(),
                       "6L6H384C (layers, heads, width; also F hidden width, V vocabulary)");
  }
  const std::int64_t heads = (*number)('H'), width = (*number)('C');
  if (width % heads != 0) {
    return Error{ErrorKind::usage,
                 fmt::format("model: width {} is not a multiple of its {} heads", width, heads)};
  }
  const TransformerShape shape =
      gpt((*number)('L'), heads, width, (*number)('F', 4 * width), (*number)('V', 50257));
  TRY(validate(shape));
  return shape;
}

Result<TransformerShape> parse_shape(std::string_view text) {
  if (const auto known = find_shape(named_decoders(), text)) return *known;
  const auto as_gpt = parse_gpt_shape(text);
  if (as_gpt.ok()) return *as_gpt;
  const auto lettered = parse_lettered_numbers(text, "LHKDCFV");
  if (lettered.ok()) {
    return parse_lettered_numbers(text, "LHCFV").ok() ? as_gpt : parse_decoder_shape(text);
  }
  std::vector<std::string> names = gpt_names();
  names.insert(names.end(), decoder_names().begin(), decoder_names().end());
  return not_a_shape(text, lettered.error().message, names,
                     "6L6H384C (layers, heads, width; also F hidden width, V vocabulary) and "
                     "2L4H2K64D256C (also K heads of keys, D their width)");
}

Result<TransformerShape> parse_decoder_shape(std::string_view text) {
  if (const auto known = find_shape(named_decoders(), text)) return *known;
  const auto number = Lettered::parse(text, "LHKDCFV");
  if (!number.ok()) {
    return not_a_shape(text, number.error().message, decoder_names(),
                       "2L4H2K64D256C (layers, heads, heads of keys, their width, width; also F "
                       "hidden width, V vocabulary)");
  }
  const std::int64_t heads = (*number)('H'), width = (*number)('C');
  const TransformerShape shape = {.layers = (*number)('L'),
                                  .heads = heads,
                                  .kv_heads = (*number)('K', heads),
                                  .head_width = (*number)('D', width / heads),
                                  .width = width,
                                  .hidden = (*number)('F', 4 * width),
                                  .vocabulary = (*number)('V', 32000)};
  TRY(validate_decoder(shape));
  return shape;
}

}  // namespace assay

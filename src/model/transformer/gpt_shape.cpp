#include "model/transformer/gpt_shape.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/suggest.h"
#include "model/transformer/lettered_numbers.h"

namespace assay {
namespace {

struct NamedShape {
  const char* name;
  std::int64_t layers, heads, width, hidden;
};
constexpr NamedShape named_shapes[] = {
    {"30M", 6, 6, 384, 1536},     {"124M", 12, 12, 768, 3072},  {"354M", 24, 16, 1024, 4096},
    {"773M", 36, 20, 1280, 5120}, {"1.5B", 48, 24, 1536, 6144}, {"3B", 32, 32, 2560, 10240},
    {"7B", 32, 32, 4096, 11008},  {"13B", 40, 40, 5120, 13824},
};

constexpr std::int64_t most_layers = 4096;

Error not_a_shape(std::string_view text, std::string_view why) {
  return {ErrorKind::usage,
          fmt::format("model \"{}\" {}; allowed: {}, or numbers with letters such as 6L6H384C "
                      "(layers, heads, width; also F hidden width, V vocabulary){}",
                      text, why, fmt::join(gpt_names(), ", "), did_you_mean(text, gpt_names()))};
}

}  // namespace

double GptShape::parameters() const {
  const double L = static_cast<double>(layers), C = static_cast<double>(width),
               F = static_cast<double>(hidden), V = static_cast<double>(vocabulary),
               T = static_cast<double>(positions);
  const double biases = bias ? L * (5 * C + F) : 0;
  return L * (4 * C * C + 2 * C * F) + V * C + T * C + (2 * L + 1) * 2 * C + biases;
}

const std::vector<std::string>& gpt_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const NamedShape& shape : named_shapes) all.emplace_back(shape.name);
    return all;
  }();
  return names;
}

Result<GptShape> parse_gpt_shape(std::string_view text) {
  GptShape shape;
  for (const NamedShape& known : named_shapes) {
    if (text != known.name) continue;
    shape.layers = known.layers;
    shape.heads = known.heads;
    shape.width = known.width;
    shape.hidden = known.hidden;
    return shape;
  }
  const auto numbers = parse_lettered_numbers(text, "LHCFV");
  if (!numbers.ok()) return not_a_shape(text, numbers.error().message);
  for (const auto& [letter, value] : *numbers) {
    switch (letter) {
      case 'L':
        shape.layers = value;
        break;
      case 'H':
        shape.heads = value;
        break;
      case 'C':
        shape.width = value;
        break;
      case 'F':
        shape.hidden = value;
        break;
      default:
        shape.vocabulary = value;
    }
  }
  if (shape.layers == 0 || shape.heads == 0 || shape.width == 0) {
    return not_a_shape(text, "lacks layers (L), heads (H) or width (C)");
  }
  if (shape.hidden == 0) shape.hidden = 4 * shape.width;
  TRY(validate(shape));
  return shape;
}

Status validate(const GptShape& shape) {
  const auto wrong = [](const std::string& what) -> Status {
    return Error{ErrorKind::usage, "model: " + what};
  };
  if (shape.width % shape.heads != 0) {
    return wrong(
        fmt::format("width {} is not a multiple of its {} heads", shape.width, shape.heads));
  }
  // Rows of 16 bytes, as every kernel and matrix library reads them.
  if (shape.head_width() % 8 != 0) {
    return wrong(fmt::format("a head is {} wide (width {} / heads {}), allowed are multiples of 8",
                             shape.head_width(), shape.width, shape.heads));
  }
  if (shape.hidden % 8 != 0) {
    return wrong(fmt::format("hidden width {} is not a multiple of 8", shape.hidden));
  }
  if (shape.layers > most_layers) {
    return wrong(fmt::format("{} layers, allowed are {}", shape.layers, most_layers));
  }
  if (shape.vocabulary < 2) return wrong("the vocabulary needs at least 2 tokens");
  return {};
}

}  // namespace assay

#include "model/gpt_shape.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cctype>

#include "core/suggest.h"
#include "core/units.h"

namespace assay {
namespace {

struct NamedShape {
  const char* name;
  std::int64_t layers, heads, width, hidden;
};
constexpr NamedShape named[] = {
    {"30M", 6, 6, 384, 1536},     {"124M", 12, 12, 768, 3072},  {"354M", 24, 16, 1024, 4096},
    {"773M", 36, 20, 1280, 5120}, {"1.5B", 48, 24, 1536, 6144}, {"3B", 32, 32, 2560, 10240},
    {"7B", 32, 32, 4096, 11008},  {"13B", 40, 40, 5120, 13824},
};

// Far above any model, and low enough that all sizes in bytes fit 64 bits.
constexpr std::int64_t largest_number = 1 << 20, most_layers = 4096;

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
    for (const NamedShape& shape : named) all.emplace_back(shape.name);
    return all;
  }();
  return names;
}

Result<GptShape> parse_gpt_shape(std::string_view text) {
  GptShape shape;
  for (const NamedShape& known : named) {
    if (text != known.name) continue;
    shape.layers = known.layers;
    shape.heads = known.heads;
    shape.width = known.width;
    shape.hidden = known.hidden;
    return shape;
  }
  std::string_view rest = text;
  std::string seen;
  while (!rest.empty()) {
    const std::size_t digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
    if (digits == 0 || digits == rest.size()) return not_a_shape(text, "is not a model");
    const auto number = parse_integer(rest.substr(0, digits));
    const char letter = static_cast<char>(std::toupper(static_cast<unsigned char>(rest[digits])));
    rest.remove_prefix(digits + 1);
    if (!number.ok() || *number < 1 || *number > static_cast<std::uint64_t>(largest_number)) {
      return not_a_shape(text, fmt::format("has a number out of range (1 to {})", largest_number));
    }
    if (seen.find(letter) != std::string::npos) {
      return not_a_shape(text, fmt::format("gives {} twice", letter));
    }
    seen += letter;
    const auto value = static_cast<std::int64_t>(*number);
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
      case 'V':
        shape.vocabulary = value;
        break;
      default:
        return not_a_shape(text, fmt::format("has the unknown letter {}", letter));
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

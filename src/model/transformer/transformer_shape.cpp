#include "model/transformer/transformer_shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "model/operations/norm_shape.h"
#include "model/operations/paged_attention.h"

namespace assay {
namespace {

double number(std::int64_t x) {
  return static_cast<double>(x);
}

Error misfit(std::string what) {
  return {ErrorKind::usage, std::move(what)};
}

}  // namespace

std::vector<ShapeMatrix> TransformerShape::matrices() const {
  const bool gated = activation == ActivationKind::swiglu;
  return {{"qkv", qkv_width(), width, layers, has_qkv_bias()},
          {"proj", width, query_width(), layers, has_all_biases()},
          {gated ? "gate_up" : "fc", up_width(), width, layers, has_all_biases()},
          {gated ? "down" : "fc2", width, hidden, layers, has_all_biases()},
          {"head", vocabulary, width, 1, false}};
}

double TransformerShape::head_products() const {
  return matrices().back().elements();
}

double TransformerShape::layer_products() const {
  double sum = 0;
  for (const ShapeMatrix& matrix : matrices()) sum += matrix.elements();
  return sum - head_products();
}

double TransformerShape::outputs() const {
  double sum = 0;
  for (const ShapeMatrix& matrix : matrices()) sum += number(matrix.count) * number(matrix.outputs);
  return sum;
}

double TransformerShape::parameters() const {
  double biases_of_matrices = 0;
  for (const ShapeMatrix& matrix : matrices()) {
    if (matrix.bias) biases_of_matrices += number(matrix.count) * number(matrix.outputs);
  }
  const double of_norm = (norm == NormKind::layer ? 2 : 1) * number(width);
  const double norms = (2 * number(layers) + 1) * of_norm +
                       (head_norms ? 2 * number(layers) * number(head_width) : 0);
  const double table = position == PositionKind::learned ? number(positions) * number(width) : 0;
  return layer_products() + norms + biases_of_matrices + table + (tied ? 1 : 2) * head_products();
}

double TransformerShape::flops(double tokens, double before) const {
  const double pairs = tokens * before + tokens * (tokens + 1) / 2;
  return 2 * layer_products() * tokens + 2 * head_products() +
         4 * number(layers) * number(query_width()) * pairs;
}

double TransformerShape::cache_elements() const {
  return 2 * number(layers) * number(kv_width());
}

Status validate(const TransformerShape& shape) {
  constexpr std::int64_t most_layers = 4096;
  for (const auto& [what, value] : {std::pair{"layers", shape.layers},
                                    {"heads", shape.heads},
                                    {"heads of keys", shape.kv_heads},
                                    {"elements of a head", shape.head_width},
                                    {"width", shape.width},
                                    {"hidden width", shape.hidden}}) {
    if (value < 1) return misfit(fmt::format("{} {}, at least 1 is needed", value, what));
  }
  if (shape.layers > most_layers) {
    return misfit(fmt::format("{} layers, allowed are {}", shape.layers, most_layers));
  }
  if (shape.vocabulary < 2) return misfit("the vocabulary needs at least 2 tokens");
  // Kernels and matrix libraries read rows in pieces of 16 bytes.
  if (shape.width % 8 != 0 || shape.hidden % 8 != 0) {
    return misfit(fmt::format("width {} and hidden width {}, allowed are multiples of 8",
                              shape.width, shape.hidden));
  }
  if (shape.head_width % 8 != 0) {
    return misfit(fmt::format("a head is {} wide, allowed are multiples of 8", shape.head_width));
  }
  if (shape.heads % shape.kv_heads != 0) {
    return misfit(
        fmt::format("{} heads share {} of keys, allowed are numbers that divide the heads",
                    shape.heads, shape.kv_heads));
  }
  return validate_norm(shape.width);
}

Status check_positions(const TransformerShape& shape, std::string_view option,
                       std::int64_t tokens) {
  if (shape.positions == 0 || tokens <= shape.positions) return {};
  return misfit(
      fmt::format("{}{} is more than the {} positions of the model (max_position_embeddings); give "
                  "at most {}, or a model with more positions",
                  option, tokens, shape.positions, shape.positions));
}

std::int64_t within_positions(const TransformerShape& shape, std::int64_t tokens) {
  return shape.positions == 0 ? tokens : std::min(tokens, shape.positions);
}

Status validate_decoder(const TransformerShape& shape) {
  TRY(validate(shape));
  if (shape.norm != NormKind::rms || shape.position != PositionKind::rotary ||
      shape.activation != ActivationKind::swiglu || shape.has_all_biases()) {
    return Error{
        ErrorKind::unsupported,
        "inference computes RMS norms, rotary positions and SwiGLU without biases; GPT-2's "
        "kind of model can be trained"};
  }
  if (const auto reason =
          PagedAttention::unsupported({shape.heads, shape.kv_heads, shape.head_width})) {
    return misfit(*reason);
  }
  return {};
}

Status validate_quantized(const TransformerShape& shape) {
  if (shape.width % 16 == 0 && shape.hidden % 16 == 0) return {};
  return misfit(fmt::format(
      "width {} and hidden width {}, allowed with quantized matrices are multiples of 16",
      shape.width, shape.hidden));
}

std::vector<double> rotary_frequencies(const TransformerShape& shape) {
  std::vector<double> frequencies;
  if (shape.position == PositionKind::learned) {
    frequencies.resize(static_cast<std::size_t>(shape.head_width / 2));
    return frequencies;
  }
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

#include "model/transformer/decoder_oracle.h"

#include <algorithm>
#include <cmath>

namespace assay {

DecoderOracle::DecoderOracle(const DecoderShape& shape, std::vector<double> weights)
    : shape_(shape),
      layout_(DecoderWeights::of(shape)),
      weights_(std::move(weights)),
      frequencies_(rotary_frequencies(shape)) {}

std::vector<double> DecoderOracle::logits(std::span<const std::int32_t> tokens) const {
  const auto c = static_cast<std::size_t>(shape_.width);
  Vector stream;
  for (const std::int32_t token : tokens) {
    const double* const row = &weights_[layout_.embedding.offset + std::size_t(token) * c];
    stream.insert(stream.end(), row, row + c);
  }
  const auto add = [&](const Vector& branch) {
    for (std::size_t i = 0; i < stream.size(); ++i) stream[i] += branch[i];
  };
  for (const DecoderLayerWeights& layer : layout_.layers) {
    Vector qkv = linear(norm(stream, layer.norm1), layer.qkv, &layer.qkv_bias);
    const auto head_width = static_cast<std::size_t>(shape_.head_width);
    const auto heads = static_cast<std::size_t>(shape_.heads),
               kv_heads = static_cast<std::size_t>(shape_.kv_heads);
    for (std::size_t i = 0; i < qkv.size() / head_width; ++i) {
      const std::size_t head = i % (heads + 2 * kv_heads), token = i / (heads + 2 * kv_heads);
      if (head >= heads + kv_heads) continue;  // values
      double* const of_head = &qkv[i * head_width];
      if (shape_.head_norms) {
        const Vector normed = norm(Vector(of_head, of_head + head_width),
                                   head < heads ? layer.query_norm : layer.key_norm);
        std::copy(normed.begin(), normed.end(), of_head);
      }
      rotate(of_head, token);
    }
    add(linear(attend(qkv), layer.proj, nullptr));
    const Vector both = linear(norm(stream, layer.norm2), layer.gate_up, nullptr);
    const auto f = static_cast<std::size_t>(shape_.hidden);
    Vector hidden(both.size() / 2);
    for (std::size_t i = 0; i < hidden.size(); ++i) {
      const double gate = both[i / f * 2 * f + i % f], up = both[i / f * 2 * f + f + i % f];
      hidden[i] = gate / (1 + std::exp(-gate)) * up;
    }
    add(linear(hidden, layer.down, nullptr));
  }
  const Vector padded = linear(norm(stream, layout_.norm), layout_.head, nullptr);
  const auto v = static_cast<std::size_t>(shape_.vocabulary),
             columns = static_cast<std::size_t>(shape_.padded_vocabulary());
  Vector result;
  for (std::size_t row = 0; row < tokens.size(); ++row) {
    const double* const begin = &padded[row * columns];
    result.insert(result.end(), begin, begin + v);
  }
  return result;
}

std::vector<double> DecoderOracle::linear(const Vector& x, const Tensor& weight,
                                          const Tensor* bias) const {
  const auto inputs = static_cast<std::size_t>(weight.columns),
             outputs = static_cast<std::size_t>(weight.rows);
  const bool with_bias = bias != nullptr && bias->elements() > 0;
  Vector y(x.size() / inputs * outputs);
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double* const row = &x[i / outputs * inputs];
    const double* const of_output = &weights_[weight.offset + i % outputs * inputs];
    double sum = with_bias ? weights_[bias->offset + i % outputs] : 0;
    for (std::size_t k = 0; k < inputs; ++k) sum += row[k] * of_output[k];
    y[i] = sum;
  }
  return y;
}

std::vector<double> DecoderOracle::norm(const Vector& x, const Tensor& weight) const {
  const auto width = static_cast<std::size_t>(weight.columns);
  Vector y(x.size());
  for (std::size_t row = 0; row < x.size(); row += width) {
    double squares = 0;
    for (std::size_t i = 0; i < width; ++i) squares += x[row + i] * x[row + i];
    const double inverse =
        1 / std::sqrt(squares / static_cast<double>(width) + shape_.norm_epsilon);
    for (std::size_t i = 0; i < width; ++i) {
      y[row + i] = x[row + i] * inverse * weights_[weight.offset + i];
    }
  }
  return y;
}

void DecoderOracle::rotate(double* head, std::size_t position) const {
  const std::size_t half = frequencies_.size();
  for (std::size_t i = 0; i < half; ++i) {
    const double angle = static_cast<double>(position) * frequencies_[i];
    const double low = head[i], high = head[half + i];
    head[i] = low * std::cos(angle) - high * std::sin(angle);
    head[half + i] = high * std::cos(angle) + low * std::sin(angle);
  }
}

std::vector<double> DecoderOracle::attend(const Vector& qkv) const {
  const auto d = static_cast<std::size_t>(shape_.head_width),
             heads = static_cast<std::size_t>(shape_.heads),
             kv_heads = static_cast<std::size_t>(shape_.kv_heads);
  const std::size_t row = (heads + 2 * kv_heads) * d, tokens = qkv.size() / row;
  Vector y(tokens * heads * d);
  for (std::size_t token = 0; token < tokens; ++token) {
    for (std::size_t head = 0; head < heads; ++head) {
      const std::size_t kv = head / (heads / kv_heads);
      Vector weights(token + 1);
      for (std::size_t key = 0; key <= token; ++key) {
        double score = 0;
        for (std::size_t i = 0; i < d; ++i) {
          score += qkv[token * row + head * d + i] * qkv[key * row + (heads + kv) * d + i];
        }
        weights[key] = score / std::sqrt(static_cast<double>(d));
      }
      const double largest = *std::max_element(weights.begin(), weights.end());
      double total = 0;
      for (double& weight : weights) total += weight = std::exp(weight - largest);
      for (std::size_t key = 0; key <= token; ++key) {
        for (std::size_t i = 0; i < d; ++i) {
          y[(token * heads + head) * d + i] +=
              weights[key] / total * qkv[key * row + (heads + kv_heads + kv) * d + i];
        }
      }
    }
  }
  return y;
}

}  // namespace assay

// Sources: Radford et al. 2019 (GPT-2); Ba et al. 2016 (layer norm); Hendrycks & Gimpel 2016 (GELU,
// here its tanh form); gradients derived from these.
#include "model/transformer/gpt_oracle.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "model/operations/reference_sums.h"

namespace assay {
namespace {

constexpr double norm_epsilon = 1e-5;

double gelu(double x) {
  const double k = std::sqrt(2 / std::numbers::pi);
  return x / 2 * (1 + std::tanh(k * (x + 0.044715 * x * x * x)));
}
/// The derivative of gelu().
double gelu_slope(double x) {
  const double k = std::sqrt(2 / std::numbers::pi);
  const double t = std::tanh(k * (x + 0.044715 * x * x * x));
  return (1 + t) / 2 + x / 2 * (1 - t * t) * k * (1 + 3 * 0.044715 * x * x);
}

std::vector<double> sum(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> result = a;
  add_scaled(result.data(), 1, b.data(), b.size());
  return result;
}

struct Moments {
  double mean, inverse_deviation;
};
Moments moments(const double* row, std::size_t width) {
  double mean = 0, variance = 0;
  for (std::size_t j = 0; j < width; ++j) mean += row[j];
  mean /= static_cast<double>(width);
  for (std::size_t j = 0; j < width; ++j) variance += (row[j] - mean) * (row[j] - mean);
  variance /= static_cast<double>(width);
  return {mean, 1 / std::sqrt(variance + norm_epsilon)};
}

}  // namespace

double GptOracle::forward(std::span<const std::int32_t> tokens,
                          std::span<const std::int32_t> targets) {
  tokens_.assign(tokens.begin(), tokens.end());
  targets_.assign(targets.begin(), targets.end());
  const std::size_t n = rows(), c = width();
  Vector stream(n * c, 0);
  for (std::size_t i = 0; i < n; ++i) {
    add_scaled(&stream[i * c], 1, values(layout_.embedding) + embedding_row(i), c);
    add_scaled(&stream[i * c], 1, values(layout_.positions) + i % sequence_ * c, c);
  }
  blocks_.clear();
  for (const GptLayerParameters& p : layout_.layers) {
    Block b;
    b.input = stream;
    b.normed1 = norm(b.input, p.norm1_weight, p.norm1_bias);
    b.qkv = linear(b.normed1, p.qkv, p.qkv_bias);
    b.attended = attend(b.qkv, b.probabilities);
    b.middle = sum(b.input, linear(b.attended, p.proj, p.proj_bias));
    b.normed2 = norm(b.middle, p.norm2_weight, p.norm2_bias);
    b.before_gelu = linear(b.normed2, p.fc, p.fc_bias);
    b.hidden = b.before_gelu;
    for (double& x : b.hidden) x = gelu(x);
    stream = sum(b.middle, linear(b.hidden, p.fc2, p.fc2_bias));
    blocks_.push_back(std::move(b));
  }
  last_ = stream;
  normed_ = norm(last_, layout_.norm_weight, layout_.norm_bias);
  logits_ = linear(normed_, layout_.embedding, Tensor{});
  double loss = 0;
  for (std::size_t i = 0; i < n; ++i) {
    loss += log_sum_exp(i) - logits_[i * columns() + static_cast<std::size_t>(targets_[i])];
  }
  return loss / static_cast<double>(n);
}

void GptOracle::backward() {
  gradients_.assign(gradients_.size(), 0);
  const std::size_t n = rows(), c = width();
  Vector d_logits(logits_.size(), 0);
  for (std::size_t i = 0; i < n; ++i) {
    const double log_sum = log_sum_exp(i);
    for (std::size_t v = 0; v < static_cast<std::size_t>(shape_.vocabulary); ++v) {
      const double p = std::exp(logits_[i * columns() + v] - log_sum);
      const bool wanted = v == static_cast<std::size_t>(targets_[i]);
      d_logits[i * columns() + v] = (p - (wanted ? 1 : 0)) / static_cast<double>(n);
    }
  }
  const Vector d_normed = linear_back(d_logits, normed_, layout_.embedding, Tensor{});
  Vector d_stream = norm_back(d_normed, last_, layout_.norm_weight, layout_.norm_bias);
  for (std::size_t l = blocks_.size(); l-- > 0;) {
    const Block& b = blocks_[l];
    const GptLayerParameters& p = layout_.layers[l];
    Vector d_hidden = linear_back(d_stream, b.hidden, p.fc2, p.fc2_bias);
    for (std::size_t i = 0; i < d_hidden.size(); ++i) d_hidden[i] *= gelu_slope(b.before_gelu[i]);
    const Vector d_normed2 = linear_back(d_hidden, b.normed2, p.fc, p.fc_bias);
    d_stream = sum(d_stream, norm_back(d_normed2, b.middle, p.norm2_weight, p.norm2_bias));
    const Vector d_attended = linear_back(d_stream, b.attended, p.proj, p.proj_bias);
    const Vector d_qkv = attend_back(d_attended, b.qkv, b.probabilities);
    const Vector d_normed1 = linear_back(d_qkv, b.normed1, p.qkv, p.qkv_bias);
    d_stream = sum(d_stream, norm_back(d_normed1, b.input, p.norm1_weight, p.norm1_bias));
  }
  for (std::size_t i = 0; i < n; ++i) {
    add_scaled(gradient(layout_.embedding) + embedding_row(i), 1, &d_stream[i * c], c);
    add_scaled(gradient(layout_.positions) + i % sequence_ * c, 1, &d_stream[i * c], c);
  }
}

/// y[n, outputs] = x[n, inputs] weight^T + bias.
std::vector<double> GptOracle::linear(const Vector& x, const Tensor& weight,
                                      const Tensor& bias) const {
  const auto inputs = static_cast<std::size_t>(weight.columns),
             outputs = static_cast<std::size_t>(weight.rows);
  const std::size_t n = x.size() / inputs;
  Vector y(n * outputs);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t o = 0; o < outputs; ++o) {
      y[i * outputs + o] = (bias.elements() > 0 ? values(bias)[o] : 0) +
                           dot(&x[i * inputs], values(weight) + o * inputs, inputs);
    }
  }
  return y;
}

/// Adds to the gradients of weight and bias and returns that of x.
std::vector<double> GptOracle::linear_back(const Vector& dy, const Vector& x, const Tensor& weight,
                                           const Tensor& bias) {
  const auto inputs = static_cast<std::size_t>(weight.columns),
             outputs = static_cast<std::size_t>(weight.rows);
  const std::size_t n = x.size() / inputs;
  Vector dx(x.size(), 0);
  for (std::size_t i = 0; i < n; ++i) {
    if (bias.elements() > 0) add_scaled(gradient(bias), 1, &dy[i * outputs], outputs);
    for (std::size_t o = 0; o < outputs; ++o) {
      const double d = dy[i * outputs + o];
      add_scaled(&dx[i * inputs], d, values(weight) + o * inputs, inputs);
      add_scaled(gradient(weight) + o * inputs, d, &x[i * inputs], inputs);
    }
  }
  return dx;
}

std::vector<double> GptOracle::norm(const Vector& x, const Tensor& weight,
                                    const Tensor& bias) const {
  const std::size_t c = width();
  Vector y(x.size());
  for (std::size_t row = 0; row < x.size(); row += c) {
    const Moments m = moments(&x[row], c);
    for (std::size_t j = 0; j < c; ++j) {
      y[row + j] =
          (x[row + j] - m.mean) * m.inverse_deviation * values(weight)[j] + values(bias)[j];
    }
  }
  return y;
}

std::vector<double> GptOracle::norm_back(const Vector& dy, const Vector& x, const Tensor& weight,
                                         const Tensor& bias) {
  const std::size_t c = width();
  Vector dx(x.size());
  for (std::size_t row = 0; row < x.size(); row += c) {
    const Moments m = moments(&x[row], c);
    double mean_g = 0, mean_gx = 0;
    for (std::size_t j = 0; j < c; ++j) {
      const double unit = (x[row + j] - m.mean) * m.inverse_deviation;
      const double g = dy[row + j] * values(weight)[j];
      mean_g += g / static_cast<double>(c);
      mean_gx += g * unit / static_cast<double>(c);
      gradient(weight)[j] += dy[row + j] * unit;
      gradient(bias)[j] += dy[row + j];
    }
    for (std::size_t j = 0; j < c; ++j) {
      const double unit = (x[row + j] - m.mean) * m.inverse_deviation;
      const double g = dy[row + j] * values(weight)[j];
      dx[row + j] = m.inverse_deviation * (g - mean_g - unit * mean_gx);
    }
  }
  return dx;
}

/// Queries, keys and values lie in [n, 3, heads, d], probabilities in [batch, heads, t, t].
std::vector<double> GptOracle::attend(const Vector& qkv, Vector& probabilities) const {
  const auto heads = static_cast<std::size_t>(shape_.heads),
             d = static_cast<std::size_t>(shape_.head_width());
  const std::size_t t = sequence_, c = width();
  const double scale = 1 / std::sqrt(static_cast<double>(d));
  probabilities.assign(batch_ * heads * t * t, 0);
  Vector y(rows() * c, 0);
  for (std::size_t head = 0; head < batch_ * heads; ++head) {
    const std::size_t first = head / heads * t, h = head % heads;
    const auto part = [&](std::size_t token, std::size_t which) {
      return &qkv[(first + token) * 3 * c + which * c + h * d];
    };
    for (std::size_t i = 0; i < t; ++i) {
      double* const p = &probabilities[(head * t + i) * t];
      double total = 0;
      for (std::size_t j = 0; j <= i; ++j) p[j] = scale * dot(part(i, 0), part(j, 1), d);
      const double largest = *std::max_element(p, p + i + 1);
      for (std::size_t j = 0; j <= i; ++j) total += p[j] = std::exp(p[j] - largest);
      for (std::size_t j = 0; j <= i; ++j) {
        p[j] /= total;
        add_scaled(&y[(first + i) * c + h * d], p[j], part(j, 2), d);
      }
    }
  }
  return y;
}

std::vector<double> GptOracle::attend_back(const Vector& dy, const Vector& qkv,
                                           const Vector& probabilities) const {
  const auto heads = static_cast<std::size_t>(shape_.heads),
             d = static_cast<std::size_t>(shape_.head_width());
  const std::size_t t = sequence_, c = width();
  const double scale = 1 / std::sqrt(static_cast<double>(d));
  Vector d_qkv(qkv.size(), 0), dp(t);
  for (std::size_t head = 0; head < batch_ * heads; ++head) {
    const std::size_t first = head / heads * t, h = head % heads;
    const auto place = [&](std::size_t token, std::size_t which) {
      return (first + token) * 3 * c + which * c + h * d;
    };
    for (std::size_t i = 0; i < t; ++i) {
      const double* const p = &probabilities[(head * t + i) * t];
      const double* const g = &dy[(first + i) * c + h * d];
      double delta = 0;
      for (std::size_t j = 0; j <= i; ++j) {
        dp[j] = dot(g, &qkv[place(j, 2)], d);
        add_scaled(&d_qkv[place(j, 2)], p[j], g, d);
        delta += p[j] * dp[j];
      }
      for (std::size_t j = 0; j <= i; ++j) {
        const double ds = scale * p[j] * (dp[j] - delta);
        add_scaled(&d_qkv[place(i, 0)], ds, &qkv[place(j, 1)], d);
        add_scaled(&d_qkv[place(j, 1)], ds, &qkv[place(i, 0)], d);
      }
    }
  }
  return d_qkv;
}

double GptOracle::log_sum_exp(std::size_t row) const {
  const double* const logits = &logits_[row * columns()];
  const double largest = *std::max_element(logits, logits + shape_.vocabulary);
  double total = 0;
  for (std::int64_t v = 0; v < shape_.vocabulary; ++v) total += std::exp(logits[v] - largest);
  return largest + std::log(total);
}

}  // namespace assay

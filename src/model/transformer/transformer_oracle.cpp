// Sources: Radford et al. 2019 (GPT-2); Ba et al. 2016 (layer norm); Hendrycks & Gimpel 2016 (GELU,
// here its tanh form); Zhang & Sennrich 2019 (RMS norm); Su et al. 2021 (rotary positions); Shazeer
// 2020 (SwiGLU); Ainslie et al. 2023 (grouped heads). Gradients are derived from these.
#include "model/transformer/transformer_oracle.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "model/operations/reference_sums.h"

namespace assay {
namespace {

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

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

std::vector<double> sum(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> result = a;
  add_scaled(result.data(), 1, b.data(), b.size());
  return result;
}

struct Moments {
  double mean, inverse_deviation;
};
/// An RMS norm takes the mean for 0.
Moments moments(const double* row, std::size_t width, NormKind kind, double epsilon) {
  double mean = 0, variance = 0;
  for (std::size_t j = 0; kind == NormKind::layer && j < width; ++j) mean += row[j];
  mean /= static_cast<double>(width);
  for (std::size_t j = 0; j < width; ++j) variance += (row[j] - mean) * (row[j] - mean);
  variance /= static_cast<double>(width);
  return {mean, 1 / std::sqrt(variance + epsilon)};
}

}  // namespace

// ---- A pass, from top to bottom ----

TransformerOracle::Pass TransformerOracle::run(
    std::span<const std::int32_t> tokens, std::size_t sequence,
    std::span<const std::int32_t> document_starts) const {
  const std::size_t n = tokens.size(), c = width();
  Pass pass;
  pass.sequence = sequence;
  pass.tokens.assign(tokens.begin(), tokens.end());
  pass.starts.assign(document_starts.begin(), document_starts.end());
  pass.starts.resize(n, 0);
  Vector stream(n * c, 0);
  for (std::size_t i = 0; i < n; ++i) {
    add_scaled(&stream[i * c], 1, values(layout_.embedding) + pass.tokens[i] * c, c);
    if (layout_.positions.elements() == 0) continue;
    add_scaled(&stream[i * c], 1, values(layout_.positions) + pass.position(i) * c, c);
  }
  for (const LayerParameters& p : layout_.layers) {
    Block b;
    b.input = stream;
    b.normed1 = norm(b.input, p.norm1_weight, p.norm1_bias);
    b.qkv = linear(b.normed1, p.qkv, p.qkv_bias);
    b.rotated = rotate_heads(b.qkv, p, pass);
    if (change_cached_) change_keys_and_values(b.rotated);
    b.attended = attend(b.rotated, b.probabilities, pass);
    b.middle = sum(b.input, linear(b.attended, p.proj, p.proj_bias));
    b.normed2 = norm(b.middle, p.norm2_weight, p.norm2_bias);
    b.before_activation = linear(b.normed2, p.up, p.up_bias);
    b.hidden = activate(b.before_activation);
    stream = sum(b.middle, linear(b.hidden, p.down, p.down_bias));
    pass.blocks.push_back(std::move(b));
  }
  pass.last = stream;
  pass.normed = norm(pass.last, layout_.norm_weight, layout_.norm_bias);
  pass.logits = linear(pass.normed, layout_.head, Tensor{});
  return pass;
}

std::vector<double> TransformerOracle::logits(std::span<const std::int32_t> tokens) const {
  const Pass pass = run(tokens, tokens.size(), {});
  Vector result;
  for (std::size_t row = 0; row < tokens.size(); ++row) {
    const double* const begin = &pass.logits[row * columns()];
    result.insert(result.end(), begin, begin + shape_.vocabulary);
  }
  return result;
}

double TransformerOracle::forward(std::span<const std::int32_t> tokens,
                                  std::span<const std::int32_t> targets, std::int64_t sequence,
                                  std::span<const std::int32_t> document_starts) {
  pass_ = run(tokens, static_cast<std::size_t>(sequence), document_starts);
  targets_.assign(targets.begin(), targets.end());
  counted_ = 0;
  double loss = 0;
  for (std::size_t i = 0; i < targets_.size(); ++i) {
    if (targets_[i] < 0) continue;
    ++counted_;
    loss += log_sum_exp(i) - pass_.logits[i * columns() + static_cast<std::size_t>(targets_[i])];
  }
  return loss / counted_;
}

void TransformerOracle::backward() {
  gradients_.assign(gradients_.size(), 0);
  const std::size_t n = targets_.size(), c = width();
  Vector d_logits(pass_.logits.size(), 0);
  for (std::size_t i = 0; i < n; ++i) {
    if (targets_[i] < 0) continue;
    const auto target = static_cast<std::size_t>(targets_[i]);
    const double log_sum = log_sum_exp(i);
    for (std::size_t v = 0; v < static_cast<std::size_t>(shape_.vocabulary); ++v) {
      const double p = std::exp(pass_.logits[i * columns() + v] - log_sum);
      d_logits[i * columns() + v] = (p - (v == target ? 1 : 0)) / counted_;
    }
  }
  const Vector d_normed = linear_back(d_logits, pass_.normed, layout_.head, Tensor{});
  Vector d_stream = norm_back(d_normed, pass_.last, layout_.norm_weight, layout_.norm_bias);
  for (std::size_t l = pass_.blocks.size(); l-- > 0;) {
    const Block& b = pass_.blocks[l];
    const LayerParameters& p = layout_.layers[l];
    const Vector d_hidden = linear_back(d_stream, b.hidden, p.down, p.down_bias);
    const Vector d_before = activate_back(d_hidden, b.before_activation);
    const Vector d_normed2 = linear_back(d_before, b.normed2, p.up, p.up_bias);
    d_stream = sum(d_stream, norm_back(d_normed2, b.middle, p.norm2_weight, p.norm2_bias));
    const Vector d_attended = linear_back(d_stream, b.attended, p.proj, p.proj_bias);
    const Vector d_qkv =
        rotate_heads_back(attend_back(d_attended, b.rotated, b.probabilities), b.qkv, p);
    const Vector d_normed1 = linear_back(d_qkv, b.normed1, p.qkv, p.qkv_bias);
    d_stream = sum(d_stream, norm_back(d_normed1, b.input, p.norm1_weight, p.norm1_bias));
  }
  for (std::size_t i = 0; i < n; ++i) {
    add_scaled(gradient(layout_.embedding) + pass_.tokens[i] * c, 1, &d_stream[i * c], c);
    if (layout_.positions.elements() == 0) continue;
    add_scaled(gradient(layout_.positions) + pass_.position(i) * c, 1, &d_stream[i * c], c);
  }
}

double TransformerOracle::log_sum_exp(std::size_t row) const {
  const double* const logits = &pass_.logits[row * columns()];
  const double largest = *std::max_element(logits, logits + shape_.vocabulary);
  double total = 0;
  for (std::int64_t v = 0; v < shape_.vocabulary; ++v) total += std::exp(logits[v] - largest);
  return largest + std::log(total);
}

// ---- Matrices ----

/// y[n, outputs] = x[n, inputs] weight^T + bias.
std::vector<double> TransformerOracle::linear(const Vector& x, const Tensor& weight,
                                              const Tensor& bias) const {
  const auto inputs = static_cast<std::size_t>(weight.columns),
             outputs = static_cast<std::size_t>(weight.rows);
  const std::size_t n = x.size() / inputs;
  Vector y(n * outputs), row;
  for (std::size_t i = 0; i < n; ++i) {
    const double* from = &x[i * inputs];
    if (change_input_) {
      row.assign(from, from + inputs);
      change_input_(row, weight);
      from = row.data();
    }
    for (std::size_t o = 0; o < outputs; ++o) {
      y[i * outputs + o] = (bias.elements() > 0 ? values(bias)[o] : 0) +
                           dot(from, values(weight) + o * inputs, inputs);
    }
  }
  return y;
}

/// Adds to the gradients of weight and bias and returns that of x.
std::vector<double> TransformerOracle::linear_back(const Vector& dy, const Vector& x,
                                                   const Tensor& weight, const Tensor& bias) {
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

// ---- Norms ----

void TransformerOracle::norm_row(double* y, const double* x, NormKind kind, const Tensor& weight,
                                 const Tensor& bias) const {
  const auto c = static_cast<std::size_t>(weight.columns);
  const Moments m = moments(x, c, kind, shape_.norm_epsilon);
  for (std::size_t j = 0; j < c; ++j) {
    y[j] = (x[j] - m.mean) * m.inverse_deviation * values(weight)[j] +
           (bias.elements() > 0 ? values(bias)[j] : 0);
  }
}

/// Adds to the gradients of weight and bias. dx may be dy.
void TransformerOracle::norm_row_back(double* dx, const double* dy, const double* x, NormKind kind,
                                      const Tensor& weight, const Tensor& bias) {
  const auto c = static_cast<std::size_t>(weight.columns);
  const Moments m = moments(x, c, kind, shape_.norm_epsilon);
  double mean_g = 0, mean_gx = 0;
  for (std::size_t j = 0; j < c; ++j) {
    const double unit = (x[j] - m.mean) * m.inverse_deviation;
    const double g = dy[j] * values(weight)[j];
    if (kind == NormKind::layer) mean_g += g / static_cast<double>(c);
    mean_gx += g * unit / static_cast<double>(c);
    gradient(weight)[j] += dy[j] * unit;
    if (bias.elements() > 0) gradient(bias)[j] += dy[j];
  }
  for (std::size_t j = 0; j < c; ++j) {
    const double unit = (x[j] - m.mean) * m.inverse_deviation;
    dx[j] = m.inverse_deviation * (dy[j] * values(weight)[j] - mean_g - unit * mean_gx);
  }
}

std::vector<double> TransformerOracle::norm(const Vector& x, const Tensor& weight,
                                            const Tensor& bias) const {
  Vector y(x.size());
  for (std::size_t row = 0; row < x.size(); row += width()) {
    norm_row(&y[row], &x[row], shape_.norm, weight, bias);
  }
  return y;
}

std::vector<double> TransformerOracle::norm_back(const Vector& dy, const Vector& x,
                                                 const Tensor& weight, const Tensor& bias) {
  Vector dx(x.size());
  for (std::size_t row = 0; row < x.size(); row += width()) {
    norm_row_back(&dx[row], &dy[row], &x[row], shape_.norm, weight, bias);
  }
  return dx;
}

// ---- Norms and rotation of heads ----

/// Calls body(first element in qkv, token, the head's norm) for every head of queries and keys.
template <typename Body>
void TransformerOracle::for_each_rotated_head(std::size_t tokens, const LayerParameters& p,
                                              Body body) const {
  const std::size_t all = heads() + 2 * kv_heads();
  for (std::size_t token = 0; token < tokens; ++token) {
    for (std::size_t head = 0; head < heads() + kv_heads(); ++head) {
      body((token * all + head) * head_width(), token, head < heads() ? p.query_norm : p.key_norm);
    }
  }
}

void TransformerOracle::rotate(double* head, std::size_t position, Direction direction) const {
  const std::size_t half = frequencies_.size();
  for (std::size_t i = 0; i < half; ++i) {
    const double angle = static_cast<double>(position) * frequencies_[i];
    const double c = std::cos(angle),
                 s = direction == Direction::forward ? std::sin(angle) : -std::sin(angle);
    const double low = head[i], high = head[half + i];
    head[i] = low * c - high * s;
    head[half + i] = high * c + low * s;
  }
}

std::vector<double> TransformerOracle::rotate_heads(const Vector& qkv, const LayerParameters& p,
                                                    const Pass& pass) const {
  Vector y = qkv;
  const std::size_t tokens = qkv.size() / static_cast<std::size_t>(shape_.qkv_width());
  for_each_rotated_head(tokens, p, [&](std::size_t at, std::size_t token, const Tensor& weight) {
    if (shape_.head_norms) norm_row(&y[at], &qkv[at], NormKind::rms, weight, Tensor{});
    if (shape_.position == PositionKind::rotary) {
      rotate(&y[at], pass.position(token), Direction::forward);
    }
  });
  return y;
}

std::vector<double> TransformerOracle::rotate_heads_back(Vector d, const Vector& qkv,
                                                         const LayerParameters& p) {
  const std::size_t tokens = qkv.size() / static_cast<std::size_t>(shape_.qkv_width());
  for_each_rotated_head(tokens, p, [&](std::size_t at, std::size_t token, const Tensor& weight) {
    if (shape_.position == PositionKind::rotary) {
      rotate(&d[at], pass_.position(token), Direction::backward);
    }
    if (shape_.head_norms) {
      norm_row_back(&d[at], &d[at], &qkv[at], NormKind::rms, weight, Tensor{});
    }
  });
  return d;
}

void TransformerOracle::change_keys_and_values(Vector& rotated) const {
  const std::size_t row = static_cast<std::size_t>(shape_.qkv_width());
  for (std::size_t begin = 0; begin < rotated.size(); begin += row) {
    for (std::size_t head = heads(); head < heads() + 2 * kv_heads(); ++head) {
      change_cached_({&rotated[begin + head * head_width()], head_width()});
    }
  }
}

// ---- Attention ----

/// Queries, keys and values lie in [n, heads + 2 kv_heads, d], probabilities in [batch, heads, t,
/// t].
std::vector<double> TransformerOracle::attend(const Vector& qkv, Vector& probabilities,
                                              const Pass& pass) const {
  const std::size_t d = head_width(), t = pass.sequence, row = (heads() + 2 * kv_heads()) * d,
                    n = qkv.size() / row, c = heads() * d;
  const double scale = 1 / std::sqrt(static_cast<double>(d));
  probabilities.assign(n / t * heads() * t * t, 0);
  Vector y(n * c, 0);
  for (std::size_t head = 0; head < n / t * heads(); ++head) {
    const std::size_t first = head / heads() * t, h = head % heads(),
                      shared = h / (heads() / kv_heads());
    const auto part = [&](std::size_t token, std::size_t of_head) {
      return &qkv[(first + token) * row + of_head * d];
    };
    for (std::size_t i = 0; i < t; ++i) {
      double* const p = &probabilities[(head * t + i) * t];
      const std::size_t begin = pass.starts[first + i];
      double total = 0;
      for (std::size_t j = begin; j <= i; ++j) {
        p[j] = scale * dot(part(i, h), part(j, heads() + shared), d);
      }
      const double largest = *std::max_element(p + begin, p + i + 1);
      for (std::size_t j = begin; j <= i; ++j) total += p[j] = std::exp(p[j] - largest);
      for (std::size_t j = begin; j <= i; ++j) {
        p[j] /= total;
        add_scaled(&y[(first + i) * c + h * d], p[j], part(j, heads() + kv_heads() + shared), d);
      }
    }
  }
  return y;
}

std::vector<double> TransformerOracle::attend_back(const Vector& dy, const Vector& qkv,
                                                   const Vector& probabilities) const {
  const std::size_t d = head_width(), t = pass_.sequence, row = (heads() + 2 * kv_heads()) * d,
                    n = qkv.size() / row, c = heads() * d;
  const double scale = 1 / std::sqrt(static_cast<double>(d));
  Vector d_qkv(qkv.size(), 0), dp(t);
  for (std::size_t head = 0; head < n / t * heads(); ++head) {
    const std::size_t first = head / heads() * t, h = head % heads(),
                      shared = h / (heads() / kv_heads());
    const auto place = [&](std::size_t token, std::size_t of_head) {
      return (first + token) * row + of_head * d;
    };
    for (std::size_t i = 0; i < t; ++i) {
      const double* const p = &probabilities[(head * t + i) * t];
      const double* const g = &dy[(first + i) * c + h * d];
      const std::size_t begin = pass_.starts[first + i];
      double delta = 0;
      for (std::size_t j = begin; j <= i; ++j) {
        const std::size_t value = place(j, heads() + kv_heads() + shared);
        dp[j] = dot(g, &qkv[value], d);
        add_scaled(&d_qkv[value], p[j], g, d);
        delta += p[j] * dp[j];
      }
      for (std::size_t j = begin; j <= i; ++j) {
        const std::size_t query = place(i, h), key = place(j, heads() + shared);
        const double ds = scale * p[j] * (dp[j] - delta);
        add_scaled(&d_qkv[query], ds, &qkv[key], d);
        add_scaled(&d_qkv[key], ds, &qkv[query], d);
      }
    }
  }
  return d_qkv;
}

// ---- The perceptron ----

std::vector<double> TransformerOracle::activate(const Vector& before) const {
  if (shape_.activation == ActivationKind::gelu) {
    Vector y = before;
    for (double& x : y) x = gelu(x);
    return y;
  }
  const auto f = static_cast<std::size_t>(shape_.hidden);
  Vector y(before.size() / 2);
  for (std::size_t i = 0; i < y.size(); ++i) {
    const std::size_t at = i / f * 2 * f + i % f;
    y[i] = before[at] * sigmoid(before[at]) * before[at + f];
  }
  return y;
}

/// Returns the gradient of `before` from that of activate()'s result.
std::vector<double> TransformerOracle::activate_back(const Vector& dy, const Vector& before) const {
  Vector dx(before.size());
  if (shape_.activation == ActivationKind::gelu) {
    for (std::size_t i = 0; i < dx.size(); ++i) dx[i] = dy[i] * gelu_slope(before[i]);
    return dx;
  }
  const auto f = static_cast<std::size_t>(shape_.hidden);
  for (std::size_t i = 0; i < dy.size(); ++i) {
    const std::size_t at = i / f * 2 * f + i % f;
    const double gate = before[at], up = before[at + f], s = sigmoid(gate);
    dx[at] = dy[i] * up * s * (1 + gate * (1 - s));
    dx[at + f] = dy[i] * gate * s;
  }
  return dx;
}

}  // namespace assay

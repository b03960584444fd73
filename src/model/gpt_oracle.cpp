// Sources: Radford et al. 2019 (GPT-2); Ba et al. 2016 (layer norm); Hendrycks & Gimpel 2016 (GELU,
// here its tanh form); gradients derived from these.
#include "model/gpt_oracle.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace assay {
namespace {

constexpr double norm_epsilon = 1e-5;

template <typename Real>
Real gelu(Real x) {
  const Real k = std::sqrt(2 / std::numbers::pi_v<Real>);
  return x / 2 * (1 + std::tanh(k * (x + Real(0.044715) * x * x * x)));
}
/// The derivative of gelu().
template <typename Real>
Real gelu_slope(Real x) {
  const Real k = std::sqrt(2 / std::numbers::pi_v<Real>);
  const Real t = std::tanh(k * (x + Real(0.044715) * x * x * x));
  return (1 + t) / 2 + x / 2 * (1 - t * t) * k * (1 + 3 * Real(0.044715) * x * x);
}

}  // namespace

template <typename Real>
class GptOracle<Real>::Pass {
 public:
  using Vector = std::vector<Real>;

  Pass(const GptShape& shape, std::int64_t batch, std::int64_t sequence, Vector parameters)
      : shape_(shape),
        layout_(GptParameters::of(shape)),
        batch_(batch),
        sequence_(sequence),
        parameters_(std::move(parameters)),
        gradients_(layout_.elements, 0) {}

  Vector& parameters() { return parameters_; }
  const Vector& gradients() const { return gradients_; }
  const GptParameters& layout() const { return layout_; }

  Real forward(std::span<const std::int32_t> tokens, std::span<const std::int32_t> targets) {
    tokens_.assign(tokens.begin(), tokens.end());
    targets_.assign(targets.begin(), targets.end());
    const std::int64_t n = batch_ * sequence_, c = shape_.width;
    Vector stream(static_cast<std::size_t>(n * c));
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < c; ++j) {
        stream[at(i, j, c)] = value(layout_.embedding, tokens_[index(i)] * c + j) +
                              value(layout_.positions, i % sequence_ * c + j);
      }
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
      for (Real& x : b.hidden) x = gelu(x);
      stream = sum(b.middle, linear(b.hidden, p.fc2, p.fc2_bias));
      blocks_.push_back(std::move(b));
    }
    last_ = stream;
    normed_ = norm(last_, layout_.norm_weight, layout_.norm_bias);
    logits_ = linear(normed_, layout_.embedding, Tensor{});
    Real loss = 0;
    const std::int64_t columns = shape_.padded_vocabulary();
    for (std::int64_t i = 0; i < n; ++i) {
      loss += log_sum_exp(i) - logits_[at(i, targets_[index(i)], columns)];
    }
    return loss / static_cast<Real>(n);
  }

  void backward() {
    gradients_.assign(gradients_.size(), 0);
    const std::int64_t n = batch_ * sequence_, c = shape_.width;
    const std::int64_t columns = shape_.padded_vocabulary();
    Vector d_logits(logits_.size(), 0);
    for (std::int64_t i = 0; i < n; ++i) {
      const Real log_sum = log_sum_exp(i);
      for (std::int64_t v = 0; v < shape_.vocabulary; ++v) {
        const Real p = std::exp(logits_[at(i, v, columns)] - log_sum);
        d_logits[at(i, v, columns)] =
            (p - (v == targets_[index(i)] ? 1 : 0)) / static_cast<Real>(n);
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
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < c; ++j) {
        gradient(layout_.embedding, tokens_[index(i)] * c + j) += d_stream[at(i, j, c)];
        gradient(layout_.positions, i % sequence_ * c + j) += d_stream[at(i, j, c)];
      }
    }
  }

 private:
  struct Block {
    Vector input, normed1, qkv, probabilities, attended, middle, normed2, before_gelu, hidden;
  };

  static std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }
  static std::size_t at(std::int64_t row, std::int64_t column, std::int64_t columns) {
    return static_cast<std::size_t>(row * columns + column);
  }
  Real value(const Tensor& t, std::int64_t i) const { return parameters_[t.offset + index(i)]; }
  Real& gradient(const Tensor& t, std::int64_t i) { return gradients_[t.offset + index(i)]; }

  static Vector sum(const Vector& a, const Vector& b) {
    Vector result = a;
    for (std::size_t i = 0; i < a.size(); ++i) result[i] += b[i];
    return result;
  }

  /// y[n, rows] = x[n, columns] weight^T + bias.
  Vector linear(const Vector& x, const Tensor& weight, const Tensor& bias) const {
    const std::int64_t n = static_cast<std::int64_t>(x.size()) / weight.columns;
    Vector y(static_cast<std::size_t>(n * weight.rows));
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t o = 0; o < weight.rows; ++o) {
        Real total = bias.elements() > 0 ? value(bias, o) : 0;
        for (std::int64_t k = 0; k < weight.columns; ++k) {
          total += x[at(i, k, weight.columns)] * value(weight, o * weight.columns + k);
        }
        y[at(i, o, weight.rows)] = total;
      }
    }
    return y;
  }
  /// Adds to the gradients of weight and bias and returns that of x.
  Vector linear_back(const Vector& dy, const Vector& x, const Tensor& weight, const Tensor& bias) {
    const std::int64_t n = static_cast<std::int64_t>(x.size()) / weight.columns;
    Vector dx(x.size(), 0);
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t o = 0; o < weight.rows; ++o) {
        const Real d = dy[at(i, o, weight.rows)];
        if (bias.elements() > 0) gradient(bias, o) += d;
        for (std::int64_t k = 0; k < weight.columns; ++k) {
          dx[at(i, k, weight.columns)] += d * value(weight, o * weight.columns + k);
          gradient(weight, o * weight.columns + k) += d * x[at(i, k, weight.columns)];
        }
      }
    }
    return dx;
  }

  struct Moments {
    Real mean, inverse_deviation;
  };
  static Moments moments(const Real* row, std::int64_t width) {
    Real mean = 0, variance = 0;
    for (std::int64_t j = 0; j < width; ++j) mean += row[j];
    mean /= static_cast<Real>(width);
    for (std::int64_t j = 0; j < width; ++j) variance += (row[j] - mean) * (row[j] - mean);
    variance /= static_cast<Real>(width);
    return {mean, 1 / std::sqrt(variance + Real(norm_epsilon))};
  }
  Vector norm(const Vector& x, const Tensor& weight, const Tensor& bias) const {
    const std::int64_t c = weight.columns;
    Vector y(x.size());
    for (std::size_t row = 0; row < x.size(); row += index(c)) {
      const Moments m = moments(&x[row], c);
      for (std::int64_t j = 0; j < c; ++j) {
        y[row + index(j)] =
            (x[row + index(j)] - m.mean) * m.inverse_deviation * value(weight, j) + value(bias, j);
      }
    }
    return y;
  }
  Vector norm_back(const Vector& dy, const Vector& x, const Tensor& weight, const Tensor& bias) {
    const std::int64_t c = weight.columns;
    Vector dx(x.size());
    for (std::size_t row = 0; row < x.size(); row += index(c)) {
      const Moments m = moments(&x[row], c);
      Real mean_g = 0, mean_gx = 0;
      for (std::int64_t j = 0; j < c; ++j) {
        const Real unit = (x[row + index(j)] - m.mean) * m.inverse_deviation;
        const Real g = dy[row + index(j)] * value(weight, j);
        mean_g += g / static_cast<Real>(c);
        mean_gx += g * unit / static_cast<Real>(c);
        gradient(weight, j) += dy[row + index(j)] * unit;
        gradient(bias, j) += dy[row + index(j)];
      }
      for (std::int64_t j = 0; j < c; ++j) {
        const Real unit = (x[row + index(j)] - m.mean) * m.inverse_deviation;
        const Real g = dy[row + index(j)] * value(weight, j);
        dx[row + index(j)] = m.inverse_deviation * (g - mean_g - unit * mean_gx);
      }
    }
    return dx;
  }

  /// Calls body(first row of the sequence, head) for all of them.
  template <typename Body>
  void for_each_head(Body body) const {
    for (std::int64_t b = 0; b < batch_; ++b) {
      for (std::int64_t h = 0; h < shape_.heads; ++h) body(b * sequence_, h);
    }
  }
  /// Element `k` of the query (0), key (1) or value (2) of a token in a head, in [n, 3, heads, d].
  std::size_t qkv_at(std::int64_t token, int which, std::int64_t head, std::int64_t k) const {
    return at(token, which * shape_.width + head * shape_.head_width() + k, 3 * shape_.width);
  }
  Vector attend(const Vector& qkv, Vector& probabilities) const {
    const std::int64_t t = sequence_, d = shape_.head_width(), c = shape_.width;
    const Real scale = 1 / std::sqrt(static_cast<Real>(d));
    probabilities.assign(static_cast<std::size_t>(batch_ * shape_.heads * t * t), 0);
    Vector y(static_cast<std::size_t>(batch_ * t * c), 0);
    for_each_head([&](std::int64_t first, std::int64_t h) {
      for (std::int64_t i = 0; i < t; ++i) {
        Real* p = &probabilities[at(first * shape_.heads + h * t + i, 0, t)];
        Real largest = -INFINITY, total = 0;
        for (std::int64_t j = 0; j <= i; ++j) {
          for (std::int64_t k = 0; k < d; ++k) {
            p[j] += scale * qkv[qkv_at(first + i, 0, h, k)] * qkv[qkv_at(first + j, 1, h, k)];
          }
          largest = std::max(largest, p[j]);
        }
        for (std::int64_t j = 0; j <= i; ++j) total += p[j] = std::exp(p[j] - largest);
        for (std::int64_t j = 0; j <= i; ++j) {
          p[j] /= total;
          for (std::int64_t k = 0; k < d; ++k) {
            y[at(first + i, h * d + k, c)] += p[j] * qkv[qkv_at(first + j, 2, h, k)];
          }
        }
      }
    });
    return y;
  }
  Vector attend_back(const Vector& dy, const Vector& qkv, const Vector& probabilities) const {
    const std::int64_t t = sequence_, d = shape_.head_width(), c = shape_.width;
    const Real scale = 1 / std::sqrt(static_cast<Real>(d));
    Vector d_qkv(qkv.size(), 0);
    Vector dp(static_cast<std::size_t>(t));
    for_each_head([&](std::int64_t first, std::int64_t h) {
      for (std::int64_t i = 0; i < t; ++i) {
        const Real* p = &probabilities[at(first * shape_.heads + h * t + i, 0, t)];
        Real delta = 0;
        for (std::int64_t j = 0; j <= i; ++j) {
          dp[index(j)] = 0;
          for (std::int64_t k = 0; k < d; ++k) {
            const Real g = dy[at(first + i, h * d + k, c)];
            dp[index(j)] += g * qkv[qkv_at(first + j, 2, h, k)];
            d_qkv[qkv_at(first + j, 2, h, k)] += p[j] * g;
          }
          delta += p[j] * dp[index(j)];
        }
        for (std::int64_t j = 0; j <= i; ++j) {
          const Real ds = scale * p[j] * (dp[index(j)] - delta);
          for (std::int64_t k = 0; k < d; ++k) {
            d_qkv[qkv_at(first + i, 0, h, k)] += ds * qkv[qkv_at(first + j, 1, h, k)];
            d_qkv[qkv_at(first + j, 1, h, k)] += ds * qkv[qkv_at(first + i, 0, h, k)];
          }
        }
      }
    });
    return d_qkv;
  }

  Real log_sum_exp(std::int64_t row) const {
    const Real* logits = &logits_[at(row, 0, shape_.padded_vocabulary())];
    Real largest = logits[0], total = 0;
    for (std::int64_t v = 1; v < shape_.vocabulary; ++v) largest = std::max(largest, logits[v]);
    for (std::int64_t v = 0; v < shape_.vocabulary; ++v) total += std::exp(logits[v] - largest);
    return largest + std::log(total);
  }

  GptShape shape_;
  GptParameters layout_;
  std::int64_t batch_, sequence_;
  Vector parameters_, gradients_;
  std::vector<std::int32_t> tokens_, targets_;
  std::vector<Block> blocks_;
  Vector last_, normed_, logits_;
};

template <typename Real>
GptOracle<Real>::GptOracle(const GptShape& shape, std::int64_t batch, std::int64_t sequence,
                           std::vector<Real> parameters)
    : pass_(std::make_unique<Pass>(shape, batch, sequence, std::move(parameters))) {}
template <typename Real>
GptOracle<Real>::~GptOracle() = default;
template <typename Real>
GptOracle<Real>::GptOracle(GptOracle&&) noexcept = default;
template <typename Real>
std::vector<Real>& GptOracle<Real>::parameters() {
  return pass_->parameters();
}
template <typename Real>
const std::vector<Real>& GptOracle<Real>::gradients() const {
  return pass_->gradients();
}
template <typename Real>
const GptParameters& GptOracle<Real>::layout() const {
  return pass_->layout();
}
template <typename Real>
Real GptOracle<Real>::forward(std::span<const std::int32_t> tokens,
                              std::span<const std::int32_t> targets) {
  return pass_->forward(tokens, targets);
}
template <typename Real>
void GptOracle<Real>::backward() {
  pass_->backward();
}

template class GptOracle<float>;
template class GptOracle<double>;

}  // namespace assay

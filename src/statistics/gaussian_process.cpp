#include "statistics/gaussian_process.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

namespace assay {
namespace {

// This keeps the correlations of coinciding points invertible.
constexpr double least_noise = 1e-6;

/// Returns Matern's correlation with smoothness 5/2 at a distance in lengths.
double matern(double squared_distance) {
  const double scaled = std::sqrt(5 * squared_distance);
  return (1 + scaled + scaled * scaled / 3) * std::exp(-scaled);
}

/// Computes four sums in parallel, because a single one would wait for each addition.
double dot(const double* a, const double* b, std::size_t count) {
  double sums[4] = {};
  std::size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    for (std::size_t lane = 0; lane < 4; ++lane) sums[lane] += a[i + lane] * b[i + lane];
  }
  for (; i < count; ++i) sums[0] += a[i] * b[i];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/// Replaces the lower half of a symmetric matrix, by rows, by its Cholesky factor.
void factorize(std::vector<double>& matrix, std::size_t count) {
  for (std::size_t row = 0; row < count; ++row) {
    double* const r = matrix.data() + row * count;
    for (std::size_t column = 0; column <= row; ++column) {
      const double* const c = matrix.data() + column * count;
      const double rest = r[column] - dot(r, c, column);
      r[column] = column == row ? std::sqrt(std::max(rest, least_noise)) : rest / c[column];
    }
  }
}

/// Solves factor * x = values in place.
void solve_lower(const std::vector<double>& factor, std::vector<double>& values) {
  const std::size_t count = values.size();
  for (std::size_t row = 0; row < count; ++row) {
    const double* const r = factor.data() + row * count;
    values[row] = (values[row] - dot(r, values.data(), row)) / r[row];
  }
}

/// Solves the transposed factor * x = values in place.
void solve_upper(const std::vector<double>& factor, std::vector<double>& values) {
  const std::size_t count = values.size();
  for (std::size_t row = count; row-- > 0;) {
    values[row] /= factor[row * count + row];
    for (std::size_t above = 0; above < row; ++above) {
      values[above] -= factor[row * count + above] * values[row];
    }
  }
}

}  // namespace

GaussianProcess::GaussianProcess(std::span<const CoordinateKind> kinds,
                                 std::vector<Coordinates> points, std::vector<double> values,
                                 const ProcessScales& scales)
    : kinds_(kinds.begin(), kinds.end()),
      points_(std::move(points)),
      scales_(scales),
      count_(values.size()),
      factor_(count_ * count_) {
  const double n = static_cast<double>(count_);
  mean_ = std::accumulate(values.begin(), values.end(), 0.0) / n;
  for (double& value : values) value -= mean_;
  for (std::size_t row = 0; row < count_; ++row) {
    for (std::size_t column = 0; column < row; ++column) {
      factor_[row * count_ + column] = correlation(points_[row], points_[column]);
    }
    factor_[row * count_ + row] = 1 + std::max(scales_.noise, least_noise);
  }
  factorize(factor_, count_);
  weights_ = values;
  solve_lower(factor_, weights_);
  const double squares = dot(weights_.data(), weights_.data(), count_);
  solve_upper(factor_, weights_);
  variance_ = squares / n;
  double log_determinant = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    log_determinant += 2 * std::log(factor_[i * count_ + i]);
  }
  // With the variance at its most likely value the quadratic term is a constant.
  const double least_variance = 1e-300;  // in case all values are equal
  log_likelihood_ = -0.5 * (n * std::log(std::max(variance_, least_variance)) + log_determinant);
}

double GaussianProcess::correlation(const Coordinates& a, const Coordinates& b) const {
  double squared = 0;
  for (std::size_t i = 0; i < kinds_.size(); ++i) {
    const double apart =
        kinds_[i] == CoordinateKind::ordered ? a[i] - b[i] : (a[i] == b[i] ? 0.0 : 1.0);
    squared += apart * apart / (scales_.lengths[i] * scales_.lengths[i]);
  }
  return matern(squared);
}

std::vector<Prediction> GaussianProcess::predict(std::span<const Coordinates> points) const {
  // Row i of `rows` belongs to measured point i and has a number for each of `points`, so that the
  // innermost loop of the elimination below accesses neighbouring memory.
  const std::size_t width = points.size();
  std::vector<double> rows(count_ * width);
  std::vector<Prediction> predictions(width, Prediction{mean_, 1});
  for (std::size_t i = 0; i < count_; ++i) {
    double* const row = rows.data() + i * width;
    for (std::size_t j = 0; j < width; ++j) {
      row[j] = correlation(points_[i], points[j]);
      predictions[j].mean += row[j] * weights_[i];
    }
  }
  for (std::size_t i = 0; i < count_; ++i) {
    double* const row = rows.data() + i * width;
    for (std::size_t above = 0; above < i; ++above) {
      const double* const other = rows.data() + above * width;
      const double share = factor_[i * count_ + above];
      for (std::size_t j = 0; j < width; ++j) row[j] -= share * other[j];
    }
    for (std::size_t j = 0; j < width; ++j) {
      row[j] /= factor_[i * count_ + i];
      predictions[j].deviation -= row[j] * row[j];
    }
  }
  for (Prediction& one : predictions) {
    one.deviation = std::sqrt(variance_ * std::max(0.0, one.deviation));
  }
  return predictions;
}

ProcessScales fit_scales(std::span<const CoordinateKind> kinds,
                         const std::vector<Coordinates>& points, const std::vector<double>& values,
                         const ProcessScales& from) {
  constexpr double lengths[] = {0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 10};
  constexpr double noises[] = {1e-4, 1e-3, 1e-2, 0.03, 0.1, 0.3, 1};
  ProcessScales best = from;
  double most = GaussianProcess(kinds, points, values, best).log_likelihood();
  const auto try_values = [&](std::span<const double> grid, auto member) {
    for (const double value : grid) {
      ProcessScales other = best;
      member(other) = value;
      const double likelihood = GaussianProcess(kinds, points, values, other).log_likelihood();
      if (likelihood <= most) continue;
      most = likelihood;
      best = other;
    }
  };
  for (int round = 0; round < 2; ++round) {
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      try_values(lengths, [i](ProcessScales& one) -> double& { return one.lengths[i]; });
    }
    try_values(noises, [](ProcessScales& one) -> double& { return one.noise; });
  }
  return best;
}

double expected_improvement(const Prediction& prediction, double best) {
  const double ahead = prediction.mean - best;
  if (prediction.deviation <= 0) return std::max(0.0, ahead);
  const double z = ahead / prediction.deviation;
  const double below = 0.5 * std::erfc(-z / std::numbers::sqrt2);
  const double density = std::exp(-0.5 * z * z) / std::sqrt(2 * std::numbers::pi);
  return ahead * below + prediction.deviation * density;
}

}  // namespace assay

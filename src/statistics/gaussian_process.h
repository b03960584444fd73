// Regression by a Gaussian process: predicts values at new points from noisy values at measured
// points, with the uncertainty. The correlation of two points is Matern's with smoothness 5/2 of
// their distance in lengths. Formulas: Rasmussen & Williams, Gaussian Processes for Machine
// Learning (2006), algorithm 2.1 and section 5.4.1.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace assay {

/// One coordinate of the points.
enum class CoordinateKind {
  ordered,  ///< values near each other are alike; should be scaled to 0 to 1
  named,    ///< values are equal or different, without distance
};

/// A point has one number for each coordinate.
using Coordinates = std::vector<double>;

/// Assumptions about the function, after its values have been shifted to mean 0.
struct ProcessScales {
  /// For each coordinate, the distance above 0 over which values change. A large one means that the
  /// coordinate hardly matters.
  std::vector<double> lengths;
  double noise = 0.01;  ///< variance of the noise divided by that of the function; at least 1e-6
};

struct Prediction {
  double mean = 0;
  double deviation = 0;  ///< deviation of the function here, without the noise of a measurement
};

class GaussianProcess {
 public:
  /// `points` and `values` are what was measured, equally many and at least 1. A point may occur
  /// several times.
  GaussianProcess(std::span<const CoordinateKind> kinds, std::vector<Coordinates> points,
                  std::vector<double> values, const ProcessScales& scales);

  /// Returns a prediction for each of `points`.
  std::vector<Prediction> predict(std::span<const Coordinates> points) const;
  /// Returns the logarithm of the probability of the values, up to a constant, with the variance
  /// that maximizes it.
  double log_likelihood() const { return log_likelihood_; }

 private:
  double correlation(const Coordinates& a, const Coordinates& b) const;

  std::vector<CoordinateKind> kinds_;
  std::vector<Coordinates> points_;
  ProcessScales scales_;
  std::size_t count_;
  double mean_ = 0, variance_ = 1, log_likelihood_ = 0;
  std::vector<double> factor_;   // lower Cholesky factor of the correlations, by rows
  std::vector<double> weights_;  // inverse of the correlations times the values
};

/// Returns the scales that maximize the likelihood of the values, starting at `from`. It tries each
/// length and the noise in turn on a coarse grid of 7 values, twice. It costs 14 * (coordinates +
/// 1) + 1 factorizations.
ProcessScales fit_scales(std::span<const CoordinateKind> kinds,
                         const std::vector<Coordinates>& points, const std::vector<double>& values,
                         const ProcessScales& from);

/// Returns the expected improvement, where larger values are better: by how much a value drawn from
/// `prediction` exceeds `best` on average, counting 0 if it does not (Jones, Schonlau & Welch 1998,
/// equation 15).
double expected_improvement(const Prediction& prediction, double best);

}  // namespace assay

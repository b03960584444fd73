// Regression by a Gaussian process: from values measured at some points, with noise, what to expect
// at others, and how sure that is. Formulas: Rasmussen & Williams, Gaussian Processes for Machine
// Learning (2006), algorithm 2.1 and section 5.4.1.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace assay {

/// One coordinate of the points.
enum class CoordinateKind {
  ordered,  ///< values near each other are alike; best scaled to 0 to 1
  named,    ///< values are equal or they differ
};

/// A point has one number for each coordinate.
using Coordinates = std::vector<double>;

/// What is assumed of the function, once its values are shifted to mean 0.
struct ProcessScales {
  /// By coordinate: the distance over which values change. A large one means that the coordinate
  /// hardly matters.
  std::vector<double> lengths;
  double noise = 0.01;  ///< variance of the noise over that of the function
};

struct Prediction {
  double mean = 0;
  double deviation = 0;  ///< of the function there, without the noise of a measurement
};

class GaussianProcess {
 public:
  /// `points` and `values` are of the same number, at least 1. A point may occur several times.
  GaussianProcess(std::span<const CoordinateKind> kinds, std::vector<Coordinates> points,
                  std::vector<double> values, const ProcessScales& scales);

  /// For each of `points`.
  std::vector<Prediction> predict(std::span<const Coordinates> points) const;
  /// The logarithm of the probability of the values, but for a constant, with the variance that
  /// makes it largest.
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

/// The scales under which the values are most likely, starting at `from`: each length and the
/// noise in turn from a coarse grid, twice. Costs about 12 * (coordinates + 1) factorizations.
ProcessScales fit_scales(std::span<const CoordinateKind> kinds,
                         const std::vector<Coordinates>& points, const std::vector<double>& values,
                         const ProcessScales& from);

/// By how much a value drawn from `prediction` exceeds `best` on average, counting 0 where it does
/// not (expected improvement: Jones, Schonlau & Welch 1998, equation 15).
double expected_improvement(const Prediction& prediction, double best);

}  // namespace assay

// Fits a straight line to points, to distinguish growth from scatter.
#pragma once

#include <optional>
#include <span>

namespace assay {

struct Slope {
  double value = 0;     ///< change of y per x
  double margin95 = 0;  ///< half the width of its 95% interval, from Student's t
};

/// Returns the slope by ordinary least squares; nullopt for fewer than 3 points or if all x are
/// equal. `x` and `y` have the same length.
std::optional<Slope> slope_of(std::span<const double> x, std::span<const double> y);

}  // namespace assay

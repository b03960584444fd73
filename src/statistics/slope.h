// A straight line through points, to tell what grows from what only scatters.
#pragma once

#include <optional>
#include <span>

namespace assay {

struct Slope {
  double value = 0;     ///< of y per x
  double margin95 = 0;  ///< half the width of its 95% interval, from Student's t
};

/// Ordinary least squares. Empty for fewer than 3 points or if all x are equal; `x` and `y` are
/// equally long.
std::optional<Slope> slope_of(std::span<const double> x, std::span<const double> y);

}  // namespace assay

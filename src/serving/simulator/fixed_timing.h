// Replies with a fixed timing that does not depend on the load, for calibrating a client.
#pragma once

#include <string_view>

#include "core/random.h"
#include "core/result.h"

namespace assay::simulator {

/// How times vary around their mean.
struct Spread {
  enum class Kind { none, uniform, lognormal };
  Kind kind = Kind::none;
  double width = 0;  ///< above 0, below 1. uniform: within +-width of the mean; lognormal: sigma

  /// Parses "none", "uniform:0.2" or "lognormal:0.5". Error: usage, quoting the text.
  static Result<Spread> parse(std::string_view text);
  /// A factor of mean 1.
  double factor(Random& random) const;
};

/// Means in seconds.
struct FixedTiming {
  double ttft = 0.05;  ///< time from the request's last byte to its first token
  double itl = 0.02;   ///< time between tokens
  Spread spread;       ///< applied to each of these times
};

}  // namespace assay::simulator

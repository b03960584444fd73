#include "judge/trace/nanoseconds_text.h"

#include <cmath>

#include "core/units.h"

namespace assay {

std::string nanoseconds_text(double ns) {
  constexpr double seconds = 1e-9;
  return ns < 1 ? "0" : format_seconds(ns * seconds);
}

std::string nanoseconds_text(std::int64_t ns) {
  return nanoseconds_text(static_cast<double>(ns));
}

std::string nanoseconds_change(double ns) {
  if (std::abs(ns) < 1) return "0";
  return (ns < 0 ? "-" : "+") + nanoseconds_text(std::abs(ns));
}

}  // namespace assay

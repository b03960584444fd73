// Seeded random numbers. next() and uniform() return the same on every machine. normal() returns
// the same up to the rounding of the C library's log() and cos(). gamma() also rejects some draws
// by such a rounded value, so in very rare cases it returns different numbers on another machine.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

namespace assay {

/// SplitMix64 (Steele, Lea & Flood 2014). All seeds walk the same cycle of 2^64 numbers, each from
/// another place. The numbers can be predicted, so they must not be secrets.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  /// Returns 64 random bits.
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  }
  /// Returns a number in [0, 1) with 53 random bits.
  double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
  /// Returns a normally distributed number with mean 0 and standard deviation 1 (Box & Muller
  /// 1958).
  double normal() {
    const double radius = std::sqrt(-2 * std::log(1 - uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }
  /// Returns a gamma distributed number with `shape` > 0 and scale 1, so the mean is `shape`
  /// (Marsaglia & Tsang 2000, ACM Trans. Math. Softw. 26; below 1 by their section 6).
  double gamma(double shape) {
    if (shape < 1) return gamma(shape + 1) * std::pow(1 - uniform(), 1 / shape);
    const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
    for (;;) {
      const double x = normal(), root = 1 + c * x;
      if (root <= 0) continue;
      const double v = root * root * root;
      if (std::log(1 - uniform()) < x * x / 2 + d * (1 - v + std::log(v))) return d * v;
    }
  }

 private:
  std::uint64_t state_;
};

}  // namespace assay

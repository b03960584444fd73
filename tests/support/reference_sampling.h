// Draws the next token from logits by sorting them, the reference of kernels/token_sampling.cu.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "model/operations/token_sampling.h"

namespace assay {

inline std::int32_t reference_draw(std::span<const float> logits, const DrawnRow& how) {
  std::vector<std::int32_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  const auto logit = [&](std::int32_t token) { return logits[static_cast<std::size_t>(token)]; };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int32_t a, std::int32_t b) { return logit(a) > logit(b); });
  std::vector<double> weights;
  double total = 0;
  for (const std::int32_t token : order) {
    const double below = static_cast<double>(logit(token)) - logit(order.front());
    const double weight = std::exp(below / how.temperature);
    const bool enough = how.top_k > 0 && std::ssize(weights) == how.top_k;
    if (enough || weight < how.min_p) break;
    weights.push_back(weight);
    total += weight;
  }
  double kept = 0;
  std::size_t count = 0;
  while (count < weights.size() && kept < how.top_p * total) kept += weights[count++];
  double at = how.uniform * kept;
  for (std::size_t i = 0; i + 1 < count; ++i) {
    at -= weights[i];
    if (at < 0) return order[i];
  }
  return order[count > 0 ? count - 1 : 0];
}

}  // namespace assay

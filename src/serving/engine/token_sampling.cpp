#include "serving/engine/token_sampling.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "core/random.h"

namespace assay::engine {

std::uint32_t draw_token(std::span<const float> logits, const server::Sampling& sampling,
                         std::uint64_t number) {
  std::vector<std::uint32_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return logits[a] > logits[b]; });
  std::vector<double> weights;
  double total = 0;
  for (const std::uint32_t token : order) {
    const double below = static_cast<double>(logits[token]) - logits[order.front()];
    weights.push_back(std::exp(below / sampling.temperature));
    total += weights.back();
  }
  double kept = 0;
  std::size_t count = 0;
  while (count < weights.size() && kept < sampling.top_p * total) kept += weights[count++];
  double at = Random(Random(*sampling.seed).next() ^ number).uniform() * kept;
  for (std::size_t i = 0; i + 1 < count; ++i) {
    at -= weights[i];
    if (at < 0) return order[i];
  }
  return order[count > 0 ? count - 1 : 0];
}

}  // namespace assay::engine

#include "measure/benchmarks/attention/attention_reference.h"

#include <algorithm>
#include <cmath>

#include "model/operations/reference_sums.h"

namespace assay {

AttentionReference::Row AttentionReference::row(std::size_t query) const {
  const std::size_t width = head_.width, keys = query + 1;
  const double scale = 1 / std::sqrt(static_cast<double>(width));
  Row made;
  made.probabilities.resize(keys);
  made.score_gradients.resize(keys);
  for (std::size_t j = 0; j < keys; ++j) {
    made.probabilities[j] =
        scale * dot(&head_.queries[query * width], &head_.keys[j * width], width);
  }
  const double largest = *std::max_element(made.probabilities.begin(), made.probabilities.end());
  double total = 0;
  for (double& p : made.probabilities) total += p = std::exp(p - largest);
  double delta = 0;
  for (std::size_t j = 0; j < keys; ++j) {
    made.probabilities[j] /= total;
    made.score_gradients[j] =
        dot(&head_.result_gradient[query * width], &head_.values[j * width], width);
    delta += made.probabilities[j] * made.score_gradients[j];
  }
  for (std::size_t j = 0; j < keys; ++j) {
    made.score_gradients[j] = scale * made.probabilities[j] * (made.score_gradients[j] - delta);
  }
  return made;
}

std::vector<double> AttentionReference::result(std::size_t query) const {
  return weighted(row(query).probabilities, head_.values);
}

std::vector<double> AttentionReference::query_gradient(std::size_t query) const {
  return weighted(row(query).score_gradients, head_.keys);
}

/// The sum of the first factors.size() rows, each times its factor.
std::vector<double> AttentionReference::weighted(const std::vector<double>& factors,
                                                 const std::vector<float>& rows) const {
  std::vector<double> sum(head_.width);
  for (std::size_t j = 0; j < factors.size(); ++j)
    add_scaled(sum.data(), factors[j], &rows[j * head_.width], head_.width);
  return sum;
}

AttentionReference::KeyValue AttentionReference::key_value_gradients(std::size_t key) const {
  KeyValue sums = {std::vector<double>(head_.width), std::vector<double>(head_.width)};
  for (std::size_t query = key; query < head_.tokens; ++query) {
    const Row here = row(query);
    add_scaled(sums.key.data(), here.score_gradients[key], &head_.queries[query * head_.width],
               head_.width);
    add_scaled(sums.value.data(), here.probabilities[key],
               &head_.result_gradient[query * head_.width], head_.width);
  }
  return sums;
}

}  // namespace assay

#include "measure/benchmarks/attention_reference.h"

#include <algorithm>
#include <cmath>

namespace assay {
namespace {

double product(const float* a, const float* b, std::size_t count) {
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += double(a[i]) * b[i];
  return sum;
}

void add(std::vector<double>& sum, double factor, const float* x) {
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += factor * x[i];
}

}  // namespace

AttentionReference::Row AttentionReference::row(std::size_t query) const {
  const std::size_t width = head_.width, keys = query + 1;
  const double scale = 1 / std::sqrt(static_cast<double>(width));
  Row made;
  made.probabilities.resize(keys);
  made.score_gradients.resize(keys);
  for (std::size_t j = 0; j < keys; ++j) {
    made.probabilities[j] =
        scale * product(&head_.queries[query * width], &head_.keys[j * width], width);
  }
  const double largest = *std::max_element(made.probabilities.begin(), made.probabilities.end());
  double total = 0;
  for (double& p : made.probabilities) total += p = std::exp(p - largest);
  double delta = 0;
  for (std::size_t j = 0; j < keys; ++j) {
    made.probabilities[j] /= total;
    made.score_gradients[j] =
        product(&head_.result_gradient[query * width], &head_.values[j * width], width);
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

/// The sum of the first rows, each times its factor.
std::vector<double> AttentionReference::weighted(const std::vector<double>& factors,
                                                 const std::vector<float>& rows) const {
  std::vector<double> sum(head_.width);
  for (std::size_t j = 0; j < factors.size(); ++j) add(sum, factors[j], &rows[j * head_.width]);
  return sum;
}

AttentionReference::KeyValue AttentionReference::key_value_gradients(std::size_t key) const {
  KeyValue sums = {std::vector<double>(head_.width), std::vector<double>(head_.width)};
  for (std::size_t query = key; query < head_.tokens; ++query) {
    const Row here = row(query);
    add(sums.key, here.score_gradients[key], &head_.queries[query * head_.width]);
    add(sums.value, here.probabilities[key], &head_.result_gradient[query * head_.width]);
  }
  return sums;
}

}  // namespace assay

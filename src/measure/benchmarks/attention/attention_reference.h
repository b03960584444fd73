// Reference for causal attention of one head, computed from the definition in double precision:
// single rows of the result and of its gradients, with which a device's results are compared.
#pragma once

#include <cstddef>
#include <vector>

namespace assay {

/// One head of one sequence. The four matrices are [tokens, width], row after row;
/// `result_gradient` is the gradient of a loss with respect to the result.
struct AttentionHead {
  std::size_t tokens = 0, width = 0;
  std::vector<float> queries, keys, values, result_gradient;
};

class AttentionReference {
 public:
  explicit AttentionReference(AttentionHead head) : head_(std::move(head)) {}

  /// Row `query` of the result: sum over keys j <= query of p_j v_j, where p is the softmax of
  /// q . k_j / sqrt(width).
  std::vector<double> result(std::size_t query) const;
  /// The loss's gradient with respect to a query: sum of p_j (dy . v_j - delta) k_j / sqrt(width),
  /// where dy is the query's row of result_gradient, and delta the mean of dy . v_j weighted with
  /// p.
  std::vector<double> query_gradient(std::size_t query) const;
  struct KeyValue {
    std::vector<double> key, value;
  };
  /// The loss's gradients with respect to a key and its value. They cost as much as one result for
  /// each query from this key on.
  KeyValue key_value_gradients(std::size_t key) const;

 private:
  /// The probabilities of a query's keys, and the gradients of its scores.
  struct Row {
    std::vector<double> probabilities, score_gradients;
  };
  Row row(std::size_t query) const;
  std::vector<double> weighted(const std::vector<double>& factors,
                               const std::vector<float>& rows) const;

  AttentionHead head_;
};

}  // namespace assay

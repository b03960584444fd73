// The attention benchmark's own check, and each way of computing held against it.
#include <gtest/gtest.h>

#include <cmath>

#include "core/random.h"
#include "measure/benchmarks/attention/attention_reference.h"
#include "support/kernel_test.h"
#include "support/run_cell.h"

namespace assay {
namespace {

/// Numbers of few bits, so that small changes are exact.
std::vector<float> numbers(std::size_t count, Random& random) {
  std::vector<float> made(count);
  for (float& x : made) x = static_cast<float>(std::round(random.normal() * 8) / 8);
  return made;
}

/// sum over all elements of result * result_gradient, whose gradients the reference gives.
double objective(const AttentionHead& head) {
  const AttentionReference reference(head);
  double sum = 0;
  for (std::size_t i = 0; i < head.tokens; ++i) {
    const std::vector<double> row = reference.result(i);
    for (std::size_t e = 0; e < head.width; ++e) {
      sum += row[e] * head.result_gradient[i * head.width + e];
    }
  }
  return sum;
}

TEST(AttentionReference, GradientsAreThoseOfFiniteDifferences) {
  Random random(5);
  AttentionHead head = {7, 4, {}, {}, {}, {}};
  for (auto* part : {&head.queries, &head.keys, &head.values, &head.result_gradient}) {
    *part = numbers(head.tokens * head.width, random);
  }
  constexpr float step = 1.0f / 256;
  for (std::size_t token = 0; token < head.tokens; ++token) {
    const AttentionReference reference(head);
    const auto of_key = reference.key_value_gradients(token);
    const std::pair<std::vector<float>*, std::vector<double>> parts[] = {
        {&head.queries, reference.query_gradient(token)},
        {&head.keys, of_key.key},
        {&head.values, of_key.value}};
    for (const auto& [part, gradient] : parts) {
      for (std::size_t e = 0; e < head.width; ++e) {
        float& x = (*part)[token * head.width + e];
        const float before = x;
        x = before + step;
        const double above = objective(head);
        x = before - step;
        const double below = objective(head);
        x = before;
        EXPECT_NEAR(gradient[e], (above - below) / (2 * step), 1e-4) << token << " " << e;
      }
    }
  }
}

class AttentionCells : public KernelTest {};

TEST_P(AttentionCells, EveryWayPasses) {
  for (const char* way : {"plain", "own"}) {
    for (const char* pass : {"forward", "backward"}) {
      for (const char* precision : {"f32", "bf16", "f16"}) {
        const bool own = std::string(way) == "own";
        if (own && std::string(precision) == "f32") continue;
        const std::vector<AxisSetting> settings = {
            {"attention", way}, {"pass", pass}, {"precision", precision}, {"sequence", "70"},
            {"batch", "2"},     {"heads", "2"}, {"width", "32"}};
        const auto outcome = run_cell(*device_, *stream_, "attention", settings);
        ASSERT_TRUE(outcome) << text_of(settings) << outcome.error().message;
        EXPECT_TRUE(outcome->verification.passed)
            << text_of(settings) << outcome->verification.detail;
        EXPECT_LT(outcome->verification.error, outcome->verification.tolerance / 2);
        EXPECT_EQ(outcome->notes.at("attention"), way);
        const double causal_half = 140.0 * 70 * 64;
        EXPECT_EQ(outcome->work.flops, (std::string(pass) == "forward" ? 2 : 5) * causal_half);
      }
    }
  }
}

ASSAY_KERNEL_BUILDS(AttentionCells);

}  // namespace
}  // namespace assay

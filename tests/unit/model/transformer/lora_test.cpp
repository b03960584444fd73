// Which matrices of a model have adapters, where they lie, and their gradients in double.
#include "model/transformer/lora.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/transformer/lora_oracle.h"
#include "model/transformer/named_shapes.h"
#include "support/training_example.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Lora, TargetsHaveNames) {
  using enum LoraTarget;
  EXPECT_THAT(parse_lora_targets("torchtune").value(), ElementsAre(q, v, o, gate, up, down));
  EXPECT_THAT(parse_lora_targets("trl").value(), ElementsAre(q, v));
  EXPECT_THAT(parse_lora_targets("all").value(), ElementsAre(q, k, v, o, gate, up, down));
  EXPECT_THAT(parse_lora_targets("down+q").value(), ElementsAre(q, down));
  for (const char* wrong : {"", "q+", "q+q", "q,v", "head"}) {
    const auto parsed = parse_lora_targets(wrong);
    ASSERT_FALSE(parsed.ok()) << wrong;
    EXPECT_THAT(parsed.error().message, HasSubstr("allowed: torchtune, trl, all"));
  }
}

/// Published counts: torchtune's Qwen3-8B with rank 8 on six matrices, and all seven with rank 16.
TEST(Lora, ParametersAreThePublishedOnes) {
  const TransformerShape shape = parse_decoder_shape("qwen3-8b").value();
  const auto parameters = [&](std::int64_t rank, const char* targets) {
    return LoraParameters::of(shape, {.rank = rank, .targets = parse_lora_targets(targets).value()})
        .parameters();
  };
  EXPECT_NEAR(parameters(8, "torchtune"), 20.35e6, 0.005e6);
  EXPECT_NEAR(parameters(16, "all"), 43.6e6, 0.1e6);
}

TEST(Lora, OtherModelsAndNumbersAreRefused) {
  const TransformerShape qwen = parse_decoder_shape("2L4H2K16D24C16F13V").value();
  const LoraSettings settings = {.rank = 4, .targets = {LoraTarget::q}};
  const auto message = [](const Status& status) {
    return status.ok() ? "valid" : status.error().message;
  };
  EXPECT_EQ(message(validate(settings, qwen)), "valid");
  EXPECT_THAT(message(validate(settings, parse_gpt_shape("2L2H16C24F13V").value())),
              HasSubstr("Llama and Qwen"));
  LoraSettings changed = settings;
  changed.rank = 17;
  EXPECT_THAT(message(validate(changed, qwen)), HasSubstr("rank 17"));
  changed = settings;
  changed.alpha = 0;
  EXPECT_THAT(message(validate(changed, qwen)), HasSubstr("alpha 0"));
  changed = settings;
  changed.targets.clear();
  EXPECT_THAT(message(validate(changed, qwen)), HasSubstr("at least one"));
}

TEST(Lora, GradientsAreThoseOfFiniteDifferences) {
  const TransformerShape shape = parse_decoder_shape("2L4H2K16D24C16F13V").value();
  TransformerPlan plan;
  plan.shape = shape;
  plan.sequence = 5;
  plan.batch = 2;
  plan.lora = {.rank = 3, .alpha = 5, .targets = parse_lora_targets("all").value()};
  const TransformerParameters layout = TransformerParameters::of(shape);
  const LoraParameters lora = plan.adapters();
  const TokenBatches data = random_batches(plan, 1, 5);
  const std::vector<float> narrow = random_weights(shape, 3);
  const std::vector<double> weights(narrow.begin(), narrow.end());
  std::vector<double> adapters(lora.elements, 0);
  Random random(7);
  for (double& x : adapters) x = 0.1 * random.normal();
  std::vector<double> gradients;
  const auto loss = [&](bool backward = false) {
    TransformerOracle oracle(shape, merged_weights(weights, layout, adapters, lora));
    const double value = oracle.forward(data.tokens, data.targets, plan.sequence);
    if (backward) {
      oracle.backward();
      gradients = adapter_gradients(oracle.gradients(), layout, adapters, lora);
    }
    return value;
  };
  loss(true);
  EXPECT_EQ(lora.named().size(), 2u * 7 * 2);
  for (const NamedTensor& named : lora.named()) {
    for (int i = 0; i < 5; ++i) {
      const std::size_t at =
          named.tensor.offset + random.next() % static_cast<std::size_t>(named.tensor.elements());
      const double before = adapters[at], h = 1e-5;
      adapters[at] = before + h;
      const double above = loss();
      adapters[at] = before - h;
      const double below = loss();
      adapters[at] = before;
      EXPECT_NEAR((above - below) / (2 * h), gradients[at],
                  1e-6 * std::max(std::abs(gradients[at]), 1e-4) + 1e-10)
          << named.name;
    }
  }
}

}  // namespace
}  // namespace assay

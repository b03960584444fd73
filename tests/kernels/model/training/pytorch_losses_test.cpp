// Fine-tuning of a tiny Qwen3, Qwen2 and Llama has PyTorch's losses from the same weights on the
// same documents: of all parameters and of adapters, in f32, bf16 and FP8.
#include <gtest/gtest.h>

#include <bit>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/json.h"
#include "core/read_file.h"
#include "core/write_file.h"
#include "model/training/weight_files.h"
#include "support/model_folder.h"
#include "support/transformer_training_test.h"

namespace assay {
namespace {

/// How numbers are computed, and how far losses may be from PyTorch's, which adds in another order.
struct Computation {
  const char* name;
  DataType type;
  bool fp8;
  double allowed;
};
constexpr Computation in_f32{"f32", DataType::f32, false, 1e-4};
constexpr Computation in_bf16{"bf16", DataType::bf16, false, 0.01};
/// Here one scale serves the matrices that are multiplied together, such as those of queries, keys
/// and values; in PyTorch each matrix has its own.
constexpr Computation in_fp8{"fp8", DataType::bf16, true, 0.04};

constexpr std::size_t golden_steps = 20;

/// A folder with a model's weights, which are numbers of bf16, so that no precision rounds them.
struct Start {
  std::string family;
  TransformerShape shape;
  std::vector<float> weights;
  TemporaryFolder folder;
};

class FineTuning : public TransformerTrainingTest {
 protected:
  static std::vector<float> cut_to_bf16(std::vector<float> numbers) {
    for (float& x : numbers) {
      x = std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) & 0xFFFF0000u);
    }
    return numbers;
  }

  static std::vector<std::unique_ptr<Start>> starts() {
    std::vector<std::unique_ptr<Start>> all;
    for (const char* family : {"qwen3", "qwen2", "llama"}) {
      TransformerShape shape = parse_shape("2L2H1K32D64C96F101V").value();
      shape.head_norms = family == std::string("qwen3");
      shape.biases = family == std::string("qwen2") ? Biases::qkv : Biases::none;
      shape.tied = family != std::string("llama");
      if (!shape.tied) shape.rope_scaling = RopeScaling{.original_positions = 16};
      auto start = std::make_unique<Start>(family, shape, cut_to_bf16(random_weights(shape, 3)));
      write_model(start->folder, shape, model_tensors(shape, start->weights), DataType::f32);
      all.push_back(std::move(start));
    }
    return all;
  }

  static TransformerSettings settings_of(const Start& start, bool lora, const Computation& how) {
    TransformerSettings settings = small_training(how.type);
    TransformerPlan& plan = settings.plan;
    plan.shape = start.shape;
    plan.batch = 4;
    plan.sequence = 32;
    plan.documents = true;
    plan.fp8 = how.fp8;
    plan.attention = how.type == DataType::f32 ? AttentionWay::plain : AttentionWay::own;
    if (lora) {
      plan.lora = LoraSettings{.rank = 4, .alpha = 8, .targets = parse_lora_targets("all").value()};
    }
    settings.weights = start.folder.path();
    settings.rates = {3e-3f};
    return settings;
  }

  /// Documents that every step reads again, so that 20 steps learn some of them.
  static PackedRows documents(const TransformerPlan& plan) {
    return random_documents(plan.shape.vocabulary, plan.batch, plan.sequence, 20, 5);
  }

  /// A training at its first step. Adapters change results from the beginning.
  std::unique_ptr<TransformerTraining> begin(const TransformerSettings& settings) {
    const TransformerPlan& plan = settings.plan;
    auto made = TransformerTraining::create(
        *device_, *stream_, settings, batches_of_rows(documents(plan), plan.batch, true).value());
    EXPECT_TRUE(made) << made.error().message;
    if (!made) return nullptr;
    if (plan.lora) {
      std::vector<float> adapters = (*made)->weights(*stream_).value();
      Random random(7);
      for (float& x : adapters) x = static_cast<float>(0.05 * random.normal());
      EXPECT_TRUE((*made)->restart(*stream_, cut_to_bf16(std::move(adapters))));
    }
    return std::move(*made);
  }

  void expect_losses_of_pytorch(const Computation& how) {
    const std::string path = std::string(ASSAY_SOURCE_DIR) + "/tests/data/finetune/losses.json";
    const Json golden = Json::parse(read_file(path).value());
    const std::size_t steps = device_->facts().emulated ? 2 : golden_steps;
    for (const auto& start : starts()) {
      for (const bool lora : {false, true}) {
        const auto training = begin(settings_of(*start, lora, how));
        ASSERT_NE(training, nullptr);
        const std::vector<float> losses = train(*training, steps);
        const auto expected = golden.at(start->family)
                                  .at(lora ? "lora" : "full")
                                  .at(how.name)
                                  .get<std::vector<double>>();
        ASSERT_EQ(expected.size(), golden_steps);
        // A test that compares losses of which nothing was learnt would see little.
        EXPECT_LT(expected.back(), expected.front() - 0.3);
        for (std::size_t i = 0; i < steps; ++i) {
          EXPECT_NEAR(losses[i], expected[i], how.allowed)
              << start->family << (lora ? " adapters" : "") << ", step " << i;
        }
      }
    }
  }
};

TEST_P(FineTuning, InF32LossesArePyTorchs) {
  expect_losses_of_pytorch(in_f32);
}
TEST_P(FineTuning, InBf16LossesArePyTorchs) {
  expect_losses_of_pytorch(in_bf16);
}
TEST_P(FineTuning, InFp8LossesArePyTorchs) {
  expect_losses_of_pytorch(in_fp8);
}

/// Writes what scripts/train-golden needs; only that asks for it.
TEST_P(FineTuning, StartForPyTorch) {
  const char* const wanted = std::getenv("ASSAY_GOLDEN_FOLDER");
  if (wanted == nullptr) GTEST_SKIP() << "ASSAY_GOLDEN_FOLDER does not name a folder";
  const std::filesystem::path golden(wanted);
  for (const auto& start : starts()) {
    const TransformerSettings settings = settings_of(*start, true, in_f32);
    const auto training = begin(settings);
    ASSERT_NE(training, nullptr);
    const std::filesystem::path folder = golden / start->family;
    std::filesystem::copy(start->folder.path(), folder);
    const Status saved =
        save_adapters(*training, *stream_, settings.plan.adapters(), *settings.plan.lora,
                      start->folder.path(), folder / "adapter");
    ASSERT_TRUE(saved) << saved.error().message;
    const PackedRows rows = documents(settings.plan);
    const Json written = {{"length", rows.length},
                          {"tokens", rows.tokens},
                          {"targets", rows.targets},
                          {"document_starts", rows.document_starts}};
    ASSERT_TRUE(write_file(folder / "documents.json", written.dump()));
  }
}

ASSAY_KERNEL_BUILDS(FineTuning);

}  // namespace
}  // namespace assay

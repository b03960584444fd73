// What gives the same bits: a second training, activations computed again, a replayed graph, a
// checkpoint, and weights that went through files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/json.h"
#include "core/json_text.h"
#include "core/read_file.h"
#include "model/training/checkpoint.h"
#include "model/training/weight_files.h"
#include "support/model_folder.h"
#include "support/temporary_folder.h"
#include "support/transformer_training_test.h"

namespace assay {
namespace {

class RepeatedTraining : public TransformerTrainingTest {};

/// Weights come from files, of one type or another, and go back to files without a change of a bit.
TEST_P(RepeatedTraining, WeightsOfFilesComeBack) {
  TransformerShape shape = other_shapes()[2];
  for (const bool tied : {false, true}) {
    shape.tied = tied;
    const TemporaryFolder from, to;
    write_model(from, shape, model_tensors(shape, random_weights(shape, 3)), DataType::bf16, 2);
    from.write("tokenizer.json", "{}");
    TransformerSettings settings = small_training(DataType::bf16);
    settings.plan.shape = shape;
    settings.weights = from.path();
    auto made = TransformerTraining::create(*device_, *stream_, settings,
                                            random_batches(settings.plan, 1, 5));
    ASSERT_TRUE(made) << made.error().message;
    const TransformerParameters layout = TransformerParameters::of(shape);
    const std::filesystem::path folder = to.path() / "tuned";
    for (const std::size_t most : {std::size_t{1} << 30, std::size_t{9000}}) {
      std::filesystem::remove_all(folder);
      const Status saved = save_weights(**made, *stream_, shape, layout, from.path(), folder, most);
      ASSERT_TRUE(saved) << saved.error().message;
      EXPECT_EQ(std::filesystem::exists(folder / "model.safetensors"), most > 9000);
      EXPECT_TRUE(std::filesystem::exists(folder / "tokenizer.json"));
      settings.weights = folder;
      auto again = TransformerTraining::create(*device_, *stream_, settings,
                                               random_batches(settings.plan, 1, 5));
      ASSERT_TRUE(again) << again.error().message;
      EXPECT_EQ((*again)->weights(*stream_).value(), (*made)->weights(*stream_).value());
      EXPECT_NE((*again)->weights(*stream_).value().at(0), 0);
    }
    TransformerSettings wide = small_training();
    wide.plan.shape = shape;
    wide.weights = from.path();
    auto widened =
        TransformerTraining::create(*device_, *stream_, wide, random_batches(wide.plan, 1, 5));
    ASSERT_TRUE(widened) << widened.error().message;
    EXPECT_EQ((*widened)->weights(*stream_).value(), (*made)->weights(*stream_).value());
    // Its files are f32, so that must stand in the configuration.
    const auto config_of = [](const std::filesystem::path& of) {
      return parse_json(read_operand(of / "config.json", 1 << 20).value()).value();
    };
    Json config = config_of(from.path());
    config["dtype"] = "bfloat16";
    from.write("config.json", config.dump());
    ASSERT_TRUE(save_weights(**widened, *stream_, shape, layout, from.path(), folder));
    config["dtype"] = config["torch_dtype"] = "float32";
    EXPECT_EQ(config_of(folder), config);
  }
}

TEST_P(RepeatedTraining, RecomputingOtherShapesChangesNoBit) {
  for (const TransformerShape& shape : other_shapes()) {
    TransformerSettings settings = small_training();
    settings.plan.shape = shape;
    const TokenBatches data = random_batches(settings.plan, 2, 5);
    const std::vector<float> weights = random_weights(shape, 3);
    auto kept = start(settings, data, weights);
    ASSERT_NE(kept, nullptr);
    const std::vector<float> losses = train(*kept, 2);
    for (const Recompute recompute :
         {Recompute::activation, Recompute::selective, Recompute::perceptron, Recompute::layer}) {
      settings.plan.recompute = recompute;
      auto again = start(settings, data, weights);
      ASSERT_NE(again, nullptr);
      EXPECT_EQ(train(*again, 2), losses);
      EXPECT_EQ(again->weights(*stream_).value(), kept->weights(*stream_).value());
    }
  }
}

/// A second run, a run that recomputes activations and a replayed graph give the same bits as the
/// first run.
TEST_P(RepeatedTraining, RecomputingAndReplayingChangeNoBit) {
  TransformerSettings settings = small_training();
  const TokenBatches data = random_batches(settings.plan, 2, 5);
  const std::vector<float> weights = random_weights(settings.plan.shape, 3);
  auto kept = start(settings, data, weights);
  ASSERT_NE(kept, nullptr);
  const std::vector<float> losses = train(*kept, 3);
  const std::vector<float> trained = kept->weights(*stream_).value();
  EXPECT_LT(losses[2], losses[0]);
  for (const Recompute recompute : {Recompute::none, Recompute::activation, Recompute::selective,
                                    Recompute::perceptron, Recompute::layer}) {
    settings.plan.recompute = recompute;
    auto again = start(settings, data, weights);
    ASSERT_NE(again, nullptr);
    EXPECT_EQ(train(*again, 3), losses);
    EXPECT_EQ(again->weights(*stream_).value(), trained);
  }
  settings.plan.recompute = Recompute::none;
  auto replayed = start(settings, data, weights);
  ASSERT_NE(replayed, nullptr);
  ASSERT_TRUE(replayed->step(*stream_));
  ASSERT_TRUE(stream_->begin_capture());
  const Status queued = replayed->step(*stream_);
  auto graph = stream_->end_capture();
  ASSERT_TRUE(queued) << queued.error().message;
  ASSERT_TRUE(graph) << graph.error().message;
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(stream_->launch(**graph));
  EXPECT_EQ(replayed->losses(*stream_, 0, 3).value(), losses);
  EXPECT_EQ(replayed->weights(*stream_).value(), trained);
}

/// A run that was saved and resumed ends with the same bits as one that was not.
TEST_P(RepeatedTraining, ResumedItGoesOnAsIfItHadNotStopped) {
  for (const DataType precision : {DataType::f32, DataType::bf16, DataType::f16}) {
    const TemporaryFolder folder;
    const std::string path = folder.path() / "checkpoint.safetensors";
    TransformerSettings settings = small_training(precision);
    settings.loss_scaling = {0x1p29f, 2};  // of f16: the first update is left out
    const TokenBatches data = random_batches(settings.plan, 3, 5);
    auto whole = start(settings, data, random_weights(settings.plan.shape, 3));
    ASSERT_NE(whole, nullptr);
    ASSERT_TRUE(whole->step(*stream_));
    const Status saved = save_checkpoint(*whole, *stream_, path);
    ASSERT_TRUE(saved) << saved.error().message;
    const std::vector<float> losses = train(*whole, 2);
    auto resumed = start(settings, data, random_weights(settings.plan.shape, 4));
    ASSERT_NE(resumed, nullptr);
    const auto loaded = load_checkpoint(*resumed, *stream_, path);
    ASSERT_TRUE(loaded) << loaded.error().message;
    train(*resumed, 2);
    EXPECT_EQ(resumed->losses(*stream_, 1, 2).value(), whole->losses(*stream_, 1, 2).value());
    EXPECT_EQ(resumed->weights(*stream_).value(), whole->weights(*stream_).value());
    const StepState found = resumed->state(*stream_).value(),
                    expected = whole->state(*stream_).value();
    EXPECT_EQ(found.step, 3u);
    EXPECT_EQ(found.loss_scale, expected.loss_scale);
    EXPECT_EQ(found.good_steps, expected.good_steps);
    EXPECT_EQ(found.skipped, expected.skipped);
    EXPECT_EQ(found.skipped > 0, precision == DataType::f16);
  }
}

/// The training of adapters continues only with the model and the scale with which it began.
TEST_P(RepeatedTraining, ACheckpointOfAdaptersKnowsItsModel) {
  const TemporaryFolder folder;
  const std::string path = folder.path() / "checkpoint.safetensors";
  TransformerSettings settings = small_training();
  settings.plan.shape = other_shapes().front();
  settings.plan.lora =
      LoraSettings{.rank = 4, .alpha = 6, .targets = parse_lora_targets("q+v").value()};
  const TokenBatches data = random_batches(settings.plan, 1, 5);
  auto saved = TransformerTraining::create(*device_, *stream_, settings, data);
  ASSERT_TRUE(saved) << saved.error().message;
  ASSERT_TRUE(save_checkpoint(**saved, *stream_, path));
  EXPECT_TRUE(load_checkpoint(**saved, *stream_, path));
  const auto error_of = [&](const TransformerSettings& other) {
    auto made = TransformerTraining::create(*device_, *stream_, other, data);
    const auto loaded = load_checkpoint(**made, *stream_, path);
    return loaded.ok() ? std::string() : loaded.error().message;
  };
  TransformerSettings other = settings;
  other.plan.lora->alpha = 8;
  EXPECT_EQ(error_of(other), path + ": is of another training: alpha is 6 there and 8 here");
  other = settings;
  other.seed = 77;
  EXPECT_THAT(error_of(other), testing::HasSubstr("another training: base_weights is "));
}

ASSAY_KERNEL_BUILDS(RepeatedTraining);

}  // namespace
}  // namespace assay

#include "model/transformer/lora_adapter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "core/json.h"
#include "core/random.h"
#include "core/read_file.h"
#include "model/tensors/safetensors.h"
#include "model/transformer/checkpoint_tensors.h"
#include "model/transformer/named_shapes.h"
#include "model/transformer/transformer_oracle.h"
#include "support/damaged_json.h"
#include "support/model_folder.h"
#include "support/temporary_folder.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

class LoraAdapters : public testing::Test {
 protected:
  const TransformerShape shape_ = parse_decoder_shape("2L2H1K16D16C24F32V").value();
  TemporaryFolder folder_;
  Json config_ = {{"peft_type", "LORA"}, {"r", 2},
                  {"lora_alpha", 3},     {"bias", "none"},
                  {"use_dora", false},   {"modules_to_save", nullptr}};
  std::vector<ModelTensor> tensors_ = {
      {"base_model.model.model.layers.1.self_attn.k_proj.lora_A.weight", {2, 16}, numbers(32)},
      {"base_model.model.model.layers.1.self_attn.k_proj.lora_B.weight", {16, 2}, numbers(32)},
      {"base_model.model.model.layers.0.mlp.down_proj.lora_A.weight", {2, 24}, numbers(48)},
      {"base_model.model.model.layers.0.mlp.down_proj.lora_B.weight", {16, 2}, numbers(32)}};

  static std::vector<float> numbers(int count) {
    std::vector<float> all;
    for (int i = 0; i < count; ++i) all.push_back(static_cast<float>(i) / 4);
    return all;
  }
  Result<LoraAdapter> read(DataType type = DataType::f32) {
    folder_.write("adapter_config.json", config_.dump());
    folder_.write("adapter_model.safetensors", tensor_file(tensors_, type).bytes);
    return read_adapter(folder_.path(), shape_);
  }
  std::string why() {
    const auto adapter = read();
    return adapter.ok() ? "accepted" : adapter.error().message;
  }
  std::string why_with(const char* key, const Json& value) {
    const Json before = config_;
    config_[key] = value;
    const std::string found = why();
    config_ = before;
    return found;
  }
};

TEST_F(LoraAdapters, AreRead) {
  for (const DataType type : {DataType::f32, DataType::bf16, DataType::f16}) {
    const auto adapter = read(type);
    ASSERT_TRUE(adapter.ok()) << adapter.error().message;
    EXPECT_EQ(adapter->rank, 2);
    EXPECT_EQ(adapter->scale(), 1.5);
    EXPECT_THAT(adapter->matrices, SizeIs(2));
    const LoraMatrix* down = adapter->find("model.layers.0.mlp.down_proj.weight");
    ASSERT_NE(down, nullptr);
    EXPECT_EQ(down->rows, 16);
    EXPECT_EQ(down->columns, 24);
    EXPECT_EQ(down->a, numbers(48));
    EXPECT_EQ(down->b, numbers(32));
    EXPECT_EQ(adapter->find("model.layers.1.mlp.down_proj.weight"), nullptr);
    EXPECT_EQ(adapter->find("model.layers.0.mlp.down_proj"), nullptr);
  }
}

TEST_F(LoraAdapters, ScaleAsTheirConfigSays) {
  config_["use_rslora"] = true;
  EXPECT_EQ(read()->scale(), 3 / std::sqrt(2.0));
  config_["use_rslora"] = nullptr;
  EXPECT_EQ(read()->scale(), 1.5);
  config_["use_rslora"] = 1;  // which PEFT takes for true
  EXPECT_FALSE(read().ok());
}

TEST_F(LoraAdapters, AreAddedInF32) {
  // W is 2 x 3, A is 2 x 3 and B is 2 x 2; alpha 4 and rank 2 scale by 2.
  const LoraAdapter adapter = {
      .rank = 2, .alpha = 4, .matrices = {{"m", 2, 3, {1, 2, 3, 4, 5, 6}, {1, 0, 10, 1}}}};
  const LoraMatrix& matrix = adapter.matrices.front();
  std::vector<float> sums(6);
  const std::vector<float> weights = {0.5F, 0, 0, 0, 0.25F, 0};
  add_adapter(adapter, matrix, 0, 2, weights.data(), DataType::f32, sums.data());
  EXPECT_THAT(sums, ElementsAre(2.5F, 4, 6, 28, 50.25F, 72));
  // A row alone, of bf16: 0x3F80 is 1.
  const std::vector<std::uint16_t> row = {0x3F80, 0, 0x3F80};
  add_adapter(adapter, matrix, 1, 1, row.data(), DataType::bf16, sums.data());
  EXPECT_THAT(sums, ElementsAre(29, 50, 73, 28, 50.25F, 72));
  // f16: 0x3C00 is 1.
  const std::vector<std::uint16_t> half = {0x3C00, 0, 0};
  add_adapter(adapter, matrix, 1, 1, half.data(), DataType::f16, sums.data());
  EXPECT_THAT(sums, ElementsAre(29, 50, 72, 28, 50.25F, 72));
}

TEST_F(LoraAdapters, AreWrittenAsTheyAreRead) {
  LoraAdapter adapter = *read();
  adapter.matrices.front().a.front() = 1 + 1 / 1024.0F;  // no number of bf16
  const TemporaryFolder other;
  for (const DataType type : {DataType::f32, DataType::bf16}) {
    ASSERT_TRUE(write_adapter(other.path() / "new", adapter, type, "a/base").ok());
    const auto again = read_adapter(other.path() / "new", shape_);
    ASSERT_TRUE(again.ok()) << again.error().message;
    EXPECT_EQ(again->alpha, 3);
    ASSERT_THAT(again->matrices, SizeIs(2));
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(again->matrices[i].module, adapter.matrices[i].module);
      EXPECT_EQ(again->matrices[i].b, adapter.matrices[i].b);
    }
    EXPECT_EQ(again->matrices.front().a.front(), type == DataType::f32 ? 1 + 1 / 1024.0F : 1);
    EXPECT_EQ(again->matrices.front().a.back(), adapter.matrices.front().a.back());
  }
  const Json config = Json::parse(*read_file(other.path() / "new" / "adapter_config.json"));
  EXPECT_EQ(config["peft_type"], "LORA");
  EXPECT_EQ(config["target_modules"], (Json{"down_proj", "k_proj"}));
  EXPECT_EQ(config["base_model_name_or_path"], "a/base");
  folder_.write("file", "");
  EXPECT_FALSE(write_adapter(folder_.path() / "file", adapter, DataType::f32, "").ok());
}

/// Matrices of one adapter beside the rank and alpha of another would be a third one. The disk is
/// full when the second file is written.
TEST_F(LoraAdapters, AFailureLeavesTheOldOne) {
  LoraAdapter adapter = *read();
  const TemporaryFolder other;
  ASSERT_TRUE(write_adapter(other.path(), adapter, DataType::f32, "").ok());
  const std::filesystem::path tensors = other.path() / "adapter_model.safetensors",
                              config = other.path() / "adapter_config.json";
  const std::string before = *read_file(tensors);
  std::filesystem::remove(config);
  std::filesystem::create_symlink("/dev/full", config);
  adapter.matrices.front().a.front() += 1;
  EXPECT_FALSE(write_adapter(other.path(), adapter, DataType::f32, "").ok());
  EXPECT_EQ(*read_file(tensors), before);
}

TEST_F(LoraAdapters, OfAnotherModelAreRefused) {
  const std::vector<ModelTensor> good = tensors_;
  tensors_[0].shape = {2, 17};
  tensors_[0].numbers = numbers(34);
  EXPECT_THAT(why(), HasSubstr("adapter_model.safetensors: tensor \"base_model.model.model.layers."
                               "1.self_attn.k_proj.lora_A.weight\" has the shape [2, 17], the "
                               "model and r need [2, 16]; is the adapter of another one?"));
  tensors_ = good;
  tensors_[1].name = "base_model.model.model.layers.2.self_attn.k_proj.lora_B.weight";
  EXPECT_THAT(why(), HasSubstr("layers.2.self_attn.k_proj.lora_B.weight\" belongs to no matrix of "
                               "the model; is the adapter of another one?"));
  for (const char* name : {"model.layers.1.self_attn.k_proj.lora_A.weight",
                           "base_model.model.model.layers.1.self_attn.k_proj.weight",
                           "base_model.model.model.embed_tokens.lora_A.weight",
                           "base_model.model.model.norm.lora_A.weight", "lora_A.weight"}) {
    tensors_[1].name = name;
    EXPECT_THAT(why(), HasSubstr("\" belongs to no matrix of the model")) << name;
  }
  tensors_ = good;
  tensors_.erase(tensors_.begin());
  EXPECT_THAT(why(), HasSubstr("tensor \"base_model.model.model.layers.1.self_attn.k_proj.lora_A."
                               "weight\" is missing"));
  tensors_.clear();
  EXPECT_THAT(why(), HasSubstr("holds no tensors"));
}

TEST_F(LoraAdapters, WithNumbersThatAreNoneAreRefused) {
  tensors_[2].numbers[5] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(why(), HasSubstr("down_proj.lora_A.weight\" has a number that is NaN or infinite"));
}

TEST_F(LoraAdapters, ThatNeedMoreThanLoraAreRefused) {
  EXPECT_EQ(why_with("peft_type", "IA3"), (folder_.path() / "adapter_config.json").string() +
                                              ": peft_type is \"IA3\", allowed: \"LORA\"");
  EXPECT_THAT(why_with("bias", "all"), HasSubstr("bias is \"all\", allowed: \"none\""));
  EXPECT_THAT(why_with("use_dora", true),
              HasSubstr("use_dora is true, which is not computed here"));
  EXPECT_THAT(why_with("modules_to_save", {"lm_head"}),
              HasSubstr("modules_to_save is [\"lm_head\"], which is not computed here"));
  EXPECT_THAT(why_with("rank_pattern", {{"q_proj", 3}}),
              HasSubstr("rank_pattern is {\"q_proj\":3}, which"));
  EXPECT_EQ(why_with("rank_pattern", Json::object()), "accepted");
  for (const Json& rank : {Json(0), Json(-1), Json(1.5), Json("2"), Json(), Json(100000)}) {
    EXPECT_THAT(why_with("r", rank), HasSubstr(", allowed: 1 to 4096"));
  }
  EXPECT_THAT(why_with("r", 3), HasSubstr("the model and r need [3, "));
  EXPECT_THAT(why_with("lora_alpha", "x"),
              HasSubstr("lora_alpha is \"x\", allowed: -65536 to 65536"));
  EXPECT_THAT(why_with("lora_alpha", 1e300), HasSubstr("lora_alpha is 1e+300, allowed"));
}

TEST_F(LoraAdapters, WithoutTheirFilesAreRefused) {
  EXPECT_THAT(read_adapter(folder_.path(), shape_).error().message,
              HasSubstr("adapter_config.json"));
  folder_.write("adapter_config.json", "[]");
  EXPECT_THAT(read_adapter(folder_.path(), shape_).error().message,
              HasSubstr("adapter_config.json: is no JSON object"));
  folder_.write("adapter_config.json", config_.dump());
  EXPECT_THAT(read_adapter(folder_.path(), shape_).error().message,
              HasSubstr("adapter_model.safetensors"));
}

/// Whatever is in the config: read, or an error that names the file.
TEST_F(LoraAdapters, SurviveDamage) {
  Random random(29);
  int refused = 0;
  for (int round = 0; round < 400; ++round) {
    const Json before = config_;
    config_ = damaged(config_, random);
    const std::string found = why();
    refused += found == "accepted" ? 0 : 1;
    EXPECT_TRUE(found == "accepted" || found.starts_with(folder_.path().string())) << found;
    config_ = before;
  }
  EXPECT_GT(refused, 200);
}

/// A model and an adapter that transformers and PEFT wrote, with the logits that they computed in
/// bf16. Inference has no kernels for its heads, which are 8 wide; the reference needs none.
TEST(LoraAdaptersOfPeft, GiveItsLogits) {
  const std::filesystem::path data =
      std::filesystem::path(ASSAY_SOURCE_DIR) / "../shared/data/peft";
  if (!std::filesystem::is_directory(data)) GTEST_SKIP() << data << " is not there";
  const TransformerShape shape = {.layers = 2,
                                  .heads = 2,
                                  .kv_heads = 1,
                                  .head_width = 8,
                                  .width = 16,
                                  .hidden = 32,
                                  .vocabulary = 64,
                                  .norm_epsilon = 1e-6,
                                  .rope_theta = 10000,
                                  .head_norms = true,
                                  .tied = true};
  const auto adapter = read_adapter(data / "adapter", shape);
  ASSERT_TRUE(adapter.ok()) << adapter.error().message;
  EXPECT_EQ(adapter->scale(), 2);
  EXPECT_THAT(adapter->matrices, SizeIs(10));
  const TensorFile file = read_tensors(data / "base" / "model.safetensors").value();
  const LoraAdapter nothing = {.rank = 1, .alpha = 0, .matrices = {}};
  const auto logits_with = [&](const LoraAdapter& added) {
    const TransformerParameters layout = TransformerParameters::of(shape);
    std::vector<float> weights(layout.elements);
    for (const NamedTensor& tensor : tensors_of_shard(shape, layout)) {
      const StoredTensor* const stored = file.find(tensor.name);
      EXPECT_NE(stored, nullptr) << tensor.name;
      if (stored == nullptr) continue;
      const LoraMatrix* const matrix = added.find(tensor.name);
      const std::int64_t rows = tensor.tensor.rows, columns = tensor.tensor.columns;
      const LoraMatrix zeros = {"", rows, columns,
                                std::vector<float>(static_cast<std::size_t>(columns)),
                                std::vector<float>(static_cast<std::size_t>(rows))};
      add_adapter(matrix != nullptr ? added : nothing, matrix != nullptr ? *matrix : zeros, 0, rows,
                  file.data(*stored), stored->type, &weights[tensor.tensor.offset]);
    }
    std::vector<std::int32_t> tokens(12);
    std::iota(tokens.begin(), tokens.end(), 0);
    const TransformerOracle oracle(shape, {weights.begin(), weights.end()});
    const std::vector<double> all = oracle.logits(tokens);
    return std::vector<double>(all.end() - shape.vocabulary, all.end() - shape.vocabulary + 8);
  };
  const std::vector<double> expected = {-0.032958984375, -0.00250244140625, -0.1328125,
                                        0.126953125,     -0.01708984375,    0.08740234375,
                                        0.14453125,      0.058837890625};
  EXPECT_THAT(logits_with(*adapter), testing::Pointwise(testing::DoubleNear(0.003), expected));
  EXPECT_THAT(logits_with(nothing),
              testing::Not(testing::Pointwise(testing::DoubleNear(0.01), expected)));
}

}  // namespace
}  // namespace assay

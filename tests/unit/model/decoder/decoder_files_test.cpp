// Which files are a decoder's weights, and which are refused.
#include "model/decoder/decoder_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "core/random.h"
#include "model/transformer/named_shapes.h"
#include "support/damaged_json.h"
#include "support/model_folder.h"

namespace assay {
namespace {

using testing::HasSubstr;

class DecoderFilesIn : public testing::Test {
 protected:
  const TransformerShape shape_ = [] {
    TransformerShape shape = parse_decoder_shape("2L2H1K16D16C24F11V").value();
    shape.tied = true;
    return shape;
  }();
  const TransformerParameters layout_ = TransformerParameters::of(shape_);
  std::vector<ModelTensor> tensors_ =
      model_tensors(shape_, std::vector<float>(layout_.elements, 0.5F));
  TemporaryFolder folder_;

  std::string opened() {
    const auto files = DecoderFiles::open(folder_.path(), tensors_of_shard(shape_, layout_));
    return files.ok() ? "opened" : files.error().message;
  }
  std::string opened_with(const std::vector<ModelTensor>& tensors, std::size_t shards = 1) {
    write_model(folder_, shape_, tensors, DataType::bf16, shards);
    return opened();
  }
  /// With the header's JSON edited, whose length stays.
  std::string opened_edited(std::string_view from, std::string_view to) {
    std::string bytes = tensor_file(tensors_, DataType::bf16).bytes;
    const std::size_t at = bytes.find(from);
    EXPECT_NE(at, std::string::npos);
    bytes.replace(at, from.size(), to);
    EXPECT_EQ(from.size(), to.size());
    folder_.write("model.safetensors", bytes);
    return opened();
  }
};

TEST_F(DecoderFilesIn, AreOneOrManyShards) {
  EXPECT_EQ(opened_with(tensors_), "opened");
  std::filesystem::remove(folder_.path() / "model.safetensors");
  EXPECT_EQ(opened_with(tensors_, 3), "opened");
  std::filesystem::remove(folder_.path() / "model-1.safetensors");
  EXPECT_THAT(opened(), HasSubstr("model-1.safetensors"));
}

TEST_F(DecoderFilesIn, MayHoldWhatIsComputedHere) {
  tensors_.push_back(
      {"model.layers.0.self_attn.rotary_emb.inv_freq", {8}, {0, 1, 2, 3, 4, 5, 6, 7}});
  tensors_.push_back({"lm_head.weight", {1}, {0}});
  EXPECT_EQ(opened_with(tensors_), "opened");
}

TEST_F(DecoderFilesIn, LackNothingAndHoldNothingElse) {
  std::vector<ModelTensor> changed = tensors_;
  changed.push_back({"model.layers.2.mlp.up_proj.weight", {1}, {0}});
  EXPECT_THAT(opened_with(changed), HasSubstr("\"model.layers.2.mlp.up_proj.weight\" is not one"));
  changed = tensors_;
  changed.pop_back();
  EXPECT_THAT(opened_with(changed), HasSubstr("\"model.norm.weight\" is missing"));
  changed = tensors_;
  changed.back().shape = {4, 4};
  EXPECT_THAT(opened_with(changed),
              HasSubstr("\"model.norm.weight\" has the shape [4, 4], config.json says [16]"));
}

TEST_F(DecoderFilesIn, HoldEachTensorOnce) {
  std::vector<ModelTensor> twice = tensors_;
  twice.push_back(tensors_.back());
  twice[twice.size() - 2].name = "model.norm.weighs";  // to be renamed in the header
  std::string bytes = tensor_file(twice, DataType::bf16).bytes;
  bytes.replace(bytes.find("weighs"), 6, "weight");
  folder_.write("model.safetensors", bytes);
  EXPECT_THAT(opened(), HasSubstr("has tensor \"model.norm.weight\" twice"));
  std::filesystem::remove(folder_.path() / "model.safetensors");
  write_model(folder_, shape_, tensors_, DataType::bf16, 2);
  folder_.write("model-1.safetensors", tensor_file(tensors_, DataType::bf16).bytes);
  EXPECT_THAT(opened(), HasSubstr("is in another file, too"));
}

TEST_F(DecoderFilesIn, AreNotTrusted) {
  const std::string whole = tensor_file(tensors_, DataType::bf16).bytes;
  folder_.write("model.safetensors", whole.substr(0, whole.size() - 1));
  EXPECT_THAT(opened(), HasSubstr("cut off"));
  folder_.write("model.safetensors", whole.substr(0, 100));
  EXPECT_THAT(opened(), HasSubstr("more than the file"));
  folder_.write("model.safetensors", whole.substr(0, 5));
  EXPECT_THAT(opened(), HasSubstr("shorter"));
  folder_.write("model.safetensors", "");
  EXPECT_THAT(opened(), HasSubstr("shorter"));
  // The second tensor's data moved onto the first one's: 11 x 16 numbers, then 16.
  EXPECT_THAT(opened_edited("[352,384]", "[320,352]"), HasSubstr("share bytes"));
  EXPECT_THAT(opened_edited("\"BF16\"", "\"BF17\""), HasSubstr("dtype"));
  EXPECT_THAT(opened_edited("[11,16]", "[16,11]"), HasSubstr("has the shape"));
}

/// Whatever is in a header or an index: opened, or an error that names the file.
TEST_F(DecoderFilesIn, SurviveDamage) {
  const std::string whole = tensor_file(tensors_, DataType::bf16).bytes;
  std::uint64_t length = 0;
  std::memcpy(&length, whole.data(), sizeof(length));
  const Json header = Json::parse(whole.substr(sizeof(length), length));
  const Json index = {{"weight_map", {{"model.norm.weight", "model.safetensors"}, {"b", "c"}}}};
  Random random(23);
  int refused = 0;
  for (int round = 0; round < 400; ++round) {
    const std::string text = damaged(header, random).dump();
    const std::uint64_t bytes = text.size();
    folder_.write("model.safetensors",
                  std::string(reinterpret_cast<const char*>(&bytes), sizeof(bytes)) + text +
                      whole.substr(sizeof(length) + length));
    std::string found = opened();
    refused += found == "opened" ? 0 : 1;
    EXPECT_TRUE(found == "opened" || found.find("model.safetensors: ") != std::string::npos)
        << text << found;
    std::filesystem::remove(folder_.path() / "model.safetensors");
    folder_.write("model.safetensors.index.json", damaged(index, random).dump());
    EXPECT_NE(opened(), "opened");
  }
  EXPECT_GT(refused, 300);
}

TEST_F(DecoderFilesIn, OfAnIndexStayInTheFolder) {
  for (const char* name : {"\"../model.safetensors\"", "\"/etc/passwd\"", "\"a/b.safetensors\"",
                           "7", "\"\"", "null", "\"model.bin\""}) {
    folder_.write("model.safetensors.index.json",
                  "{\"weight_map\": {\"model.norm.weight\": " + std::string(name) + "}}");
    EXPECT_THAT(opened(), HasSubstr("no file NAME.safetensors")) << name;
  }
  folder_.write("model.safetensors.index.json", "[]");
  EXPECT_THAT(opened(), HasSubstr("weight_map"));
  folder_.write("model.safetensors.index.json", "{\"weight_map\": {}}");
  EXPECT_THAT(opened(), HasSubstr("0 files"));
}

}  // namespace
}  // namespace assay

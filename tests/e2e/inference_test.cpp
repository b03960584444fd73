// `assay run prefill` and `decode` with weights from files, as users run them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/random.h"
#include "core/read_file.h"
#include "e2e/json_lines.h"
#include "e2e/process.h"
#include "e2e/served.h"
#include "model/decoder/decoder_self_check.h"
#include "model/transformer/named_shapes.h"
#include "model/transformer/transformer_oracle.h"
#include "support/decoder_reference.h"
#include "support/model_folder.h"
#include "support/one_cpu.h"
#include "support/random_adapter.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Inference : public testing::Test {
 protected:
  Inference() {
    shape_.rope_scaling = RopeScaling{.original_positions = 8};
    Random random(5);
    weights_.resize(TransformerParameters::of(shape_).elements);
    for (float& x : weights_) x = static_cast<float>(random.normal() * 0.1);
    write_model(folder_, shape_, model_tensors(shape_, weights_), DataType::f32, 2);
  }

  Outcome run(std::vector<std::string> words) const {
    words.insert(words.begin(), {"run"});
    words.insert(words.end(), {"--telemetry", "off", "--json", "--device", "cpu", "--budget", "1s",
                               "--out", (folder_.path() / "results").string()});
    return assay_run(words);
  }
  Json record(std::vector<std::string> words) const {
    words.push_back("weights=" + folder_.path().string());
    const Outcome outcome = run(words);
    const std::vector<Json> records = json_lines(outcome.out);
    EXPECT_EQ(records.size(), 1u) << outcome.err;
    return records.empty() ? Json() : records.front();
  }
  std::string file(const char* name) const { return (folder_.path() / name).string(); }

  TransformerShape shape_ = parse_decoder_shape("2L4H2K16D32C48F131V").value();
  std::vector<float> weights_;
  const TemporaryFolder folder_;
};

TEST_F(Inference, AServerGeneratesByTheWeightsOfTheFiles) {
  const OneCpu one_cpu;
  Process server({"serve", "--weights", folder_.path().string(), "--device", "cpu", "--precision",
                  "f32", "--port", "0", "--max-model-len", "64", "--max-num-batched-tokens", "16",
                  "--max-num-seqs", "4", "--served-model-name", "files"});
  const auto ports = ports_of(server, 1);
  ASSERT_EQ(ports.size(), 1u) << server.error_text();
  const std::string reply = ask(
      ports[0],
      post("/v1/completions", R"({"prompt":[5,6,7,130],"max_tokens":20,"return_token_ids":true})"));
  const Json parsed = Json::parse(body_of(reply), nullptr, false);
  const ReferenceDecoder reference(shape_, {weights_.begin(), weights_.end()});
  EXPECT_EQ(parsed["choices"][0]["token_ids"].get<std::vector<std::uint32_t>>(),
            reference.generate({5, 6, 7, 130}, 20));
  EXPECT_EQ(parsed["model"], "files");
}

TEST_F(Inference, AServerGeneratesWithAnAdapter) {
  const OneCpu one_cpu;
  const LoraAdapter adapter = random_adapter(shape_);
  const std::vector<float> sums = with_adapter(shape_, weights_, adapter);
  ASSERT_TRUE(write_adapter(folder_.path() / "adapter", adapter, DataType::f32, "").ok());
  Process server({"serve", "--weights", folder_.path().string(), "--adapter", file("adapter"),
                  "--device", "cpu", "--precision", "f32", "--port", "0", "--max-model-len", "64",
                  "--max-num-batched-tokens", "16", "--max-num-seqs", "4"});
  const auto ports = ports_of(server, 1);
  ASSERT_EQ(ports.size(), 1u) << server.error_text();
  const std::string reply = ask(
      ports[0],
      post("/v1/completions", R"({"prompt":[5,6,7,130],"max_tokens":20,"return_token_ids":true})"));
  const Json parsed = Json::parse(body_of(reply), nullptr, false);
  const auto expected = [&](const std::vector<float>& weights) {
    return ReferenceDecoder(shape_, {weights.begin(), weights.end()}).generate({5, 6, 7, 130}, 20);
  };
  EXPECT_EQ(parsed["choices"][0]["token_ids"].get<std::vector<std::uint32_t>>(), expected(sums));
  EXPECT_NE(expected(sums), expected(weights_));
}

TEST_F(Inference, AnAdapterIsAnAxisOnlyWhereThereIsOne) {
  ASSERT_TRUE(write_adapter(file("adapter"), random_adapter(shape_), DataType::f32, "").ok());
  const Json with = record({"decode", "precision=f32", "context=4", "adapter=" + file("adapter")});
  EXPECT_EQ(with["axes"]["adapter"], file("adapter"));
  const Json without = record({"decode", "precision=f32", "context=4"});
  EXPECT_TRUE(without["axes"].contains("weights"));
  EXPECT_FALSE(without["axes"].contains("adapter"));
}

TEST_F(Inference, AnAdapterNeedsItsModel) {
  const TransformerShape wider = parse_decoder_shape("2L4H2K16D48C48F131V").value();
  ASSERT_TRUE(write_adapter(file("adapter"), random_adapter(wider), DataType::f32, "").ok());
  const Outcome other = run({"decode", "weights=" + folder_.path().string(), "precision=f32",
                             "context=4", "adapter=" + file("adapter")});
  EXPECT_EQ(other.status, 4);
  EXPECT_THAT(other.err, AllOf(HasSubstr("adapter_model.safetensors: tensor \"base_model.model."),
                               HasSubstr("is the adapter of another one?")));
  const Outcome alone = run({"decode", "adapter=" + file("adapter")});
  EXPECT_EQ(alone.status, 4);
  EXPECT_THAT(alone.err, HasSubstr("an adapter belongs to a model's weights; set weights=FOLDER"));
  const Outcome served = assay_run({"serve", "--adapter", file("adapter")});
  EXPECT_EQ(served.status, 2);
  EXPECT_THAT(served.err, HasSubstr("--adapter belongs to a model's weights; give --weights, too"));
}

/// A server would otherwise answer with token 0, whatever it is asked.
TEST_F(Inference, WeightsThatAreNoNumbersAreNamed) {
  for (const DataType type : {DataType::f32, DataType::bf16, DataType::f16}) {
    std::vector<float> damaged = weights_;
    damaged[TransformerParameters::of(shape_).layers[1].down.offset + 3] =
        type == DataType::f16 ? -INFINITY : NAN;
    const TemporaryFolder folder;
    write_model(folder, shape_, model_tensors(shape_, damaged), type);
    const Outcome end = assay_run({"serve", "--weights", folder.path().string(), "--device", "cpu",
                                   "--port", "0", "--max-model-len", "64"});
    EXPECT_EQ(end.status, 2);
    EXPECT_THAT(end.err, HasSubstr("model.safetensors: tensor "
                                   "\"model.layers.1.mlp.down_proj.weight\" has a number that is "
                                   "NaN or infinite"));
  }
}

TEST_F(Inference, WritesLogitsOfGivenTokens) {
  const std::vector<std::int32_t> tokens = {3, 1, 4, 1, 5, 9, 2, 6, 5, 130, 0};
  folder_.write("tokens", "[3, 1, 4, 1, 5\n9 2 6 5,130,0]\n");
  const Json found =
      record({"prefill", "tokens=" + file("tokens"), "logits=" + file("logits"), "precision=f32"});
  ASSERT_EQ(found["status"], "passed") << found["reason"];
  EXPECT_EQ(found["axes"]["model"], "2L4H2K16D32C48F131V");
  EXPECT_EQ(found["axes"]["prompt"], "11");
  EXPECT_TRUE(std::ranges::any_of(found["metrics"], [](const Json& one) {
    return one["name"] == "load_rate" && one["value"].get<double>() > 0;
  }));
  const TensorFile file_of_logits = read_tensors(file("logits")).value();
  const StoredTensor* const logits = file_of_logits.find("logits");
  ASSERT_NE(logits, nullptr);
  EXPECT_EQ(logits->shape, (std::vector<std::int64_t>{11, 131}));
  std::vector<float> numbers(11 * 131);
  std::memcpy(numbers.data(), file_of_logits.data(*logits), logits->bytes);
  const TransformerOracle oracle(shape_, {weights_.begin(), weights_.end()});
  EXPECT_LE(relative_distance(numbers, oracle.logits(tokens)), 1e-4);
  const StoredTensor* const ids = file_of_logits.find("tokens");
  ASSERT_NE(ids, nullptr);
  std::vector<std::int64_t> same(11);
  std::memcpy(same.data(), file_of_logits.data(*ids), ids->bytes);
  EXPECT_TRUE(std::equal(tokens.begin(), tokens.end(), same.begin()));
}

TEST_F(Inference, MeasuresQuantizedWeights) {
  const auto bytes_of = [&](const char* quantization, const char* cache = "auto") {
    const Json found =
        record({"decode", "context=20", "precision=bf16",
                std::string("quantization=") + quantization, std::string("cache=") + cache});
    EXPECT_EQ(found["status"], "passed") << found["reason"];
    const bool codes_in_cache = cache == std::string("fp8");
    EXPECT_EQ(found["axes"].contains("cache"), codes_in_cache);
    EXPECT_EQ(found["notes"].value("cache", "").starts_with("e4m3, a factor per token and head"),
              codes_in_cache);
    const std::string codes = quantization == std::string("fp8")    ? "e4m3"
                              : quantization == std::string("int8") ? "i8"
                                                                    : "";
    EXPECT_EQ(found["notes"].value("codes", ""), codes);
    const std::string inputs = quantization == std::string("fp8")    ? "bf16 (no faster on a CPU)"
                               : quantization == std::string("int8") ? "bf16 (not asked for)"
                                                                     : "";
    EXPECT_EQ(found["notes"].value("inputs", ""), inputs);
    for (const Json& one : found["metrics"]) {
      if (one["name"] == "model_bandwidth") {
        return one["value"].get<double>() * found["value"]["median"].get<double>();
      }
    }
    return 0.0;
  };
  const double products = 2.0 * 32 * (128 + 64 + 3 * 48) + 131 * 32;
  const double outputs = 2.0 * (128 + 2 * 32 + 2 * 48) + 131;
  const double cache = 2.0 * 20 * 2 * 2 * 32;
  EXPECT_NEAR(bytes_of("none"), 2 * products + cache, 1);
  EXPECT_NEAR(bytes_of("fp8"), products + 4 * outputs + cache, 1);
  EXPECT_NEAR(bytes_of("int8"), products + 4 * outputs + cache, 1);
  // A byte for each number, and a factor for each key and value of a layer.
  EXPECT_NEAR(bytes_of("none", "fp8"), 2 * products + cache / 2 + 4 * 20 * 2 * 2 * 2, 1);
}

TEST_F(Inference, IsExportedAsLlamaBenchPrintsIt) {
  EXPECT_EQ(record({"prefill", "prompt=16", "precision=f32"})["status"], "passed");
  const Json generated =
      record({"decode", "context=12", "generate=8", "precision=f32", "quantization=int8"});
  EXPECT_EQ(generated["status"], "passed") << generated["reason"];
  EXPECT_EQ(record({"decode", "batch=2", "context=12", "precision=f32"})["status"], "passed");
  const std::string rows = file("llama.json");
  const Outcome outcome = assay_run(
      {"report", (folder_.path() / "results").string(), "--format", "llama-bench", "-o", rows});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const Json found = Json::parse(read_file(rows).value());
  ASSERT_EQ(found.size(), 2u);  // without the batch of two
  EXPECT_EQ(found[0]["n_prompt"], 16);
  EXPECT_EQ(found[0]["n_gen"], 0);
  EXPECT_EQ(found[0]["model_type"], "2L4H2K16D32C48F131V F32");
  EXPECT_EQ(found[0]["model_filename"], folder_.path().string());
  EXPECT_EQ(found[1]["n_prompt"], 0);
  EXPECT_EQ(found[1]["n_gen"], 8);
  EXPECT_EQ(found[1]["n_depth"], 4);
  EXPECT_EQ(found[1]["model_type"], "2L4H2K16D32C48F131V INT8");
  // The value is of one token, a sample of llama-bench of all eight.
  const double sample = found[1]["samples_ns"][0].get<double>();
  EXPECT_NEAR(sample, 8e9 * generated["samples"]["seconds"][0].get<double>(), 1);
  EXPECT_NEAR(found[1]["samples_ts"][0].get<double>(), 8e9 / sample, 1e-6 * 8e9 / sample);
  const Outcome imported = assay_run({"import", rows, "--out", file("imported")});
  EXPECT_EQ(imported.status, 0) << imported.err;
  const Outcome shown = assay_run({"show", file("imported")});
  EXPECT_THAT(shown.out, AllOf(HasSubstr("pp16"), HasSubstr("tg8")));
  const Outcome none = assay_run({"report", file("imported"), "--format", "llama-bench"});
  EXPECT_NE(none.status, 0);
  EXPECT_THAT(none.err, HasSubstr("assay run inference"));
}

TEST_F(Inference, KnowsItsMemoryWithoutTheWeights) {
  std::filesystem::remove(folder_.path() / "model-1.safetensors");
  const Outcome outcome = assay_run(
      {"run", "decode", "weights=" + folder_.path().string(), "--dry-run", "--device", "cpu"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("model=2L4H2K16D32C48F131V"), HasSubstr("weights ")));
}

TEST_F(Inference, AContextHasAtMostThePositionsOfTheModel) {
  Json config = config_of(shape_);
  config["max_position_embeddings"] = 48;
  folder_.write("config.json", config.dump());
  const Json too_long = record({"decode", "context=49"});
  EXPECT_EQ(too_long["status"], "error");
  EXPECT_THAT(too_long.value("reason", ""),
              HasSubstr("context=49 is more than the 48 positions of the model"));
  EXPECT_THAT(record({"prefill", "prompt=49"}).value("reason", ""), HasSubstr("prompt=49 is more"));
  EXPECT_EQ(record({"decode"})["axes"]["context"], "48");  // by default
  EXPECT_EQ(record({"prefill"})["axes"]["prompt"], "48");
}

TEST_F(Inference, NamesTheFileThatIsWrong) {
  const auto reason = [&](std::vector<std::string> words) {
    const Json found = record(std::move(words));
    EXPECT_NE(found["status"], "passed");
    return found["reason"].get<std::string>();
  };
  EXPECT_THAT(reason({"decode", "model=llama3-8b"}),
              AllOf(HasSubstr("weights=" + folder_.path().string()), HasSubstr("layers: 2")));
  folder_.write("tokens", "1 2 131");
  EXPECT_THAT(reason({"prefill", "tokens=" + file("tokens")}), HasSubstr("token 131"));
  folder_.write("tokens", "1 2 x");
  EXPECT_THAT(reason({"prefill", "tokens=" + file("tokens")}), HasSubstr("\"x\" is no token id"));
  folder_.write("tokens", "1 2 3");
  EXPECT_THAT(reason({"prefill", "prompt=4", "tokens=" + file("tokens")}),
              HasSubstr("the file has 3 tokens"));
  std::filesystem::remove(folder_.path() / "model-1.safetensors");
  EXPECT_THAT(reason({"decode"}), HasSubstr("model-1.safetensors"));
  folder_.write("config.json", "{}");
  EXPECT_THAT(reason({"decode"}), HasSubstr("config.json: lacks \"model_type\""));
}

}  // namespace
}  // namespace assay

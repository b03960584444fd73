// Weights of decoders from files, and quantized ones.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "compute/kernels/element_types.h"
#include "compute/stored_elements.h"
#include "core/random.h"
#include "model/decoder/decoder.h"
#include "model/decoder/decoder_self_check.h"
#include "model/tensors/weights.h"
#include "model/transformer/lora_adapter.h"
#include "model/transformer/named_shapes.h"
#include "model/transformer/transformer_oracle.h"
#include "support/kernel_test.h"
#include "support/model_folder.h"
#include "support/random_adapter.h"

namespace assay {
namespace {

class DecodersOfFiles : public KernelTest {
 protected:
  static constexpr DecoderLimits limits_ = {
      .tokens = 8, .results = 8, .sequences = 1, .positions = 16, .blocks = 1};

  /// Random weights that are numbers of bf16 and of f16, so that no file rounds them.
  std::vector<float> random_weights(const TransformerShape& shape) {
    std::vector<float> weights(TransformerParameters::of(shape).elements);
    Random random(7);
    for (float& x : weights) {
      x = static_cast<float>(static_cast<std::int64_t>(random.next() % 255) - 127) / 1024;
    }
    return weights;
  }

  /// Logits of a decoder with these weights against the reference with the same.
  void expect_logits(const DecoderSettings& settings, const std::vector<float>& weights) {
    auto decoder = Decoder::create(*device_, *stream_, settings);
    ASSERT_TRUE(decoder.ok()) << decoder.error().message;
    ASSERT_TRUE((*decoder)->set_tables(*stream_, {0}));
    const std::vector<std::int32_t> tokens = {3, 1, 4, 1, 5, 9, 2, 6};
    ASSERT_TRUE((*decoder)->set_tokens(
        *stream_, {tokens, {0, 1, 2, 3, 4, 5, 6, 7}, {0, 0, 0, 0, 0, 0, 0, 0}, {}}));
    ASSERT_TRUE((*decoder)->enqueue(*stream_, {8, 8, 7, {{0, 8, 1}}}));
    const TransformerOracle oracle(settings.shape, {weights.begin(), weights.end()});
    EXPECT_LE(relative_distance((*decoder)->logits(*stream_, 8).value(), oracle.logits(tokens)),
              logits_tolerance(settings.precision, 2))
        << name_of(settings.precision);
  }
};

TEST_P(DecodersOfFiles, ComputeWhatTheReferenceDoes) {
  TransformerShape llama = parse_decoder_shape("2L4H2K16D32C48F131V").value();
  llama.rope_scaling = RopeScaling{.original_positions = 8};
  TransformerShape qwen3 = parse_decoder_shape("2L2H1K32D40C48F131V").value();
  qwen3.head_norms = qwen3.tied = true;
  TransformerShape qwen2 = parse_decoder_shape("2L3H3K16D48C40F131V").value();
  qwen2.biases = Biases::qkv;
  const std::pair<TransformerShape, std::size_t> models[] = {{llama, 1}, {qwen3, 3}, {qwen2, 2}};
  for (const auto& [shape, shards] : models) {
    const std::vector<float> weights = random_weights(shape);
    for (const DataType in_file : {DataType::f32, DataType::bf16, DataType::f16}) {
      const TemporaryFolder folder;
      write_model(folder, shape, model_tensors(shape, weights), in_file, shards);
      for (const DataType precision : {DataType::f32, DataType::bf16}) {
        SCOPED_TRACE(name_of(in_file));
        expect_logits(
            {.shape = shape, .limits = limits_, .precision = precision, .folder = folder.path()},
            weights);
      }
    }
  }
}

/// Quantized from files: the numbers are those of their codes, no further away than half a step.
TEST_P(DecodersOfFiles, MayBeQuantized) {
  TransformerShape shape = parse_decoder_shape("1L2H1K16D32C48F131V").value();
  shape.tied = true;
  const std::vector<float> weights = random_weights(shape);
  const TemporaryFolder folder;
  write_model(folder, shape, model_tensors(shape, weights), DataType::f16);
  DecoderSettings settings = {.shape = shape,
                              .limits = limits_,
                              .precision = DataType::f32,
                              .quantization = {DataType::i8},
                              .folder = folder.path()};
  auto decoder = Decoder::create(*device_, *stream_, settings);
  ASSERT_TRUE(decoder.ok()) << decoder.error().message;
  const std::vector<float> quantized = (*decoder)->weights(*stream_).value();
  const TransformerShape untied = computed_shape(shape, settings.weights());
  const TransformerParameters before = TransformerParameters::of(shape),
                              after = TransformerParameters::of(untied);
  const auto expect_near = [&](const Tensor& from, const Tensor& to, double step) {
    for (std::int64_t i = 0; i < shape.vocabulary && i < from.rows; ++i) {
      for (std::int64_t k = 0; k < from.columns; ++k) {
        const auto at = static_cast<std::size_t>(i * from.columns + k);
        ASSERT_NEAR(quantized[to.offset + at], weights[from.offset + at], step) << i << " " << k;
      }
    }
  };
  const double half_step = 127 / 1024.0 / 127 / 2 * 1.0001;
  expect_near(before.embedding, after.embedding, 0);
  expect_near(before.head, after.head, half_step);
  expect_near(before.layers[0].qkv, after.layers[0].qkv, half_step);
  expect_near(before.layers[0].down, after.layers[0].down, half_step);
  expect_near(before.layers[0].norm2_weight, after.layers[0].norm2_weight, 0);
}

/// Codes of e4m3 with one factor for a matrix, one for each row, or one for each block, as
/// published checkpoints have them; factors of activations and the cache beside them are not read.
/// With a factor for each row, quantized matrices get the file's own codes.
TEST_P(DecodersOfFiles, OfPublishedFp8) {
  TransformerShape shape = parse_decoder_shape("1L4H1K64D160C144F131V").value();
  for (const std::string strategy : {"tensor", "channel", "block"}) {
    SCOPED_TRACE(strategy);
    shape.tied = strategy == "block";
    const TransformerParameters layout = TransformerParameters::of(shape);
    std::vector<float> weights = random_weights(shape);
    Random random(5);
    std::vector<StoredTensor> stored;
    std::vector<std::string> bytes;
    const auto add = [&](const std::string& name, DataType type, std::vector<std::int64_t> extents,
                         const std::vector<float>& numbers) {
      std::string& data = bytes.emplace_back(numbers.size() * size_of(type), '\0');
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        store_element(type, &data[i * size_of(type)], double{numbers[i]});
      }
      stored.push_back({name, type, std::move(extents)});
    };
    for (const NamedTensor& named : tensors_of_shard(shape, layout, {})) {
      const Tensor& tensor = named.tensor;
      const bool is_matrix = named.name.ends_with("_proj.weight");
      float* const numbers = &weights[tensor.offset];
      const auto count = static_cast<std::size_t>(tensor.elements());
      if (!is_matrix) {
        add(named.name, DataType::bf16, named.shape, {numbers, numbers + count});
        continue;
      }
      const std::int64_t high = strategy == "tensor"  ? tensor.rows
                                : strategy == "block" ? 128
                                                      : 1,
                         wide = strategy == "block" ? 128 : tensor.columns,
                         down = (tensor.rows + high - 1) / high,
                         across = (tensor.columns + wide - 1) / wide;
      std::vector<float> factors, codes;
      for (std::int64_t i = 0; i < down * across; ++i) {
        factors.push_back(static_cast<float>(1 + random.next() % 7) / 4096);
      }
      for (std::int64_t i = 0; i < tensor.elements(); ++i) {
        const std::int64_t row = i / tensor.columns, column = i % tensor.columns;
        const float factor = factors[static_cast<std::size_t>(row / high * across + column / wide)];
        // The largest code of each row, so that the row's own factor is the file's.
        const float code = column == row % tensor.columns
                               ? 448.0f
                               : E4m3::encode(static_cast<float>(random.normal() * 60)).decode();
        codes.push_back(code);
        numbers[i] = factor * code;
      }
      add(named.name, DataType::e4m3, named.shape, codes);
      const std::vector<std::int64_t> of_factors =
          strategy == "tensor"    ? std::vector<std::int64_t>{1}
          : strategy == "channel" ? std::vector<std::int64_t>{tensor.rows, 1}
                                  : std::vector<std::int64_t>{down, across};
      add(named.name + (strategy == "block" ? "_scale_inv" : "_scale"),
          strategy == "channel" ? DataType::bf16 : DataType::f32, of_factors, factors);
      const std::string layer = named.name.substr(0, named.name.rfind(".weight"));
      add(layer + ".input_scale", DataType::f32, {1}, {0.5f});
      if (layer.ends_with("k_proj")) add(layer + ".k_scale", DataType::f32, {1}, {0.5f});
    }
    if (shape.tied) {  // the head is there, too, and not read
      const std::int64_t v = shape.vocabulary, c = shape.width;
      add("lm_head.weight", DataType::e4m3, {v, c}, std::vector<float>(std::size_t(v * c), 1));
      add("lm_head.weight_scale_inv", DataType::f32, {2, 2}, {1, 1, 1, 1});
    }
    const TemporaryFolder folder;
    const auto write = [&] {
      TensorFile file = lay_out_tensors(stored, {{"format", "pt"}});
      for (std::size_t i = 0; i < bytes.size(); ++i) {
        std::copy(bytes[i].begin(), bytes[i].end(), file.data(file.tensors[i]));
      }
      folder.write("model.safetensors", file.bytes);
    };
    folder.write("config.json", config_of(shape).dump());
    write();
    DecoderSettings settings = {
        .shape = shape, .limits = limits_, .precision = DataType::f32, .folder = folder.path()};
    expect_logits(settings, weights);
    if (strategy == "tensor") {
      add("model.layers.0.self_attn.q_proj.weight_scale_inv", DataType::f32, {1}, {1});
      write();
      const auto twice = Decoder::create(*device_, *stream_, settings);
      ASSERT_FALSE(twice.ok());
      EXPECT_NE(twice.error().message.find("has factors of a matrix that has others, too"),
                std::string::npos)
          << twice.error().message;
    }
    if (strategy != "channel") continue;
    settings.precision = DataType::bf16;
    settings.quantization.codes = DataType::e4m3;
    auto decoder = Decoder::create(*device_, *stream_, settings);
    ASSERT_TRUE(decoder.ok()) << decoder.error().message;
    const std::vector<float> quantized = (*decoder)->weights(*stream_).value();
    const Tensor& down = layout.layers[0].down;
    for (std::int64_t i = 0; i < down.elements(); ++i) {
      const auto at = down.offset + static_cast<std::size_t>(i);
      ASSERT_EQ(quantized[at], Bf16::encode(weights[at]).decode()) << i;
    }
  }
}

TEST_P(DecodersOfFiles, OfEveryCodePassTheGate) {
  TransformerShape llama = parse_decoder_shape("1L4H2K32D64C").value(),
                   qwen = parse_decoder_shape("1L2H1K64D64C").value();
  qwen.head_norms = qwen.tied = true;
  qwen.biases = Biases::qkv;
  bool chosen = false;  // is_slow(): the shape changes with each type and code
  for (const DataType type : {DataType::f32, DataType::bf16}) {
    for (const DataType codes : {DataType::e4m3, DataType::e4m3_fnuz, DataType::i8}) {
      chosen = !chosen;
      for (const bool is_llama : {true, false}) {
        if (is_slow() && is_llama != chosen) continue;
        const TransformerShape& shape = is_llama ? llama : qwen;
        const auto gate = check_decoder(*device_, *stream_,
                                        {.shape = shape,
                                         .limits = {},
                                         .precision = type,
                                         .quantization = {codes, InputCodes::where_faster}});
        ASSERT_TRUE(gate.ok()) << gate.error().message;
        EXPECT_TRUE(gate->passed()) << name_of(type) << " " << name_of(codes) << gate->error;
        if (type != DataType::bf16 || !is_fp8(codes)) continue;
        EXPECT_GT(gate->error, 0.6 * gate->tolerance) << name_of(codes) << ": no codes were read";
      }
    }
  }
}

/// A file that shrinks after it was opened, and one that is missing: errors, and no memory is
/// written to that is gone.
TEST_P(DecodersOfFiles, SayWhatCannotBeRead) {
  const TransformerShape shape = parse_decoder_shape("1L2H1K16D32C48F131V").value();
  const TemporaryFolder folder;
  write_model(folder, shape, model_tensors(shape, random_weights(shape)), DataType::f32);
  const TransformerParameters layout = TransformerParameters::of(shape);
  const auto files = DecoderFiles::open(folder.path(), tensors_of_shard(shape, layout));
  ASSERT_TRUE(files.ok()) << files.error().message;
  const std::filesystem::path file = folder.path() / "model.safetensors";
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 1);
  const Status read =
      files->read(*device_, *stream_, [](const auto&, const void*, DataType) { return Status(); });
  ASSERT_FALSE(read.ok());
  EXPECT_NE(
      read.error().message.find("model.safetensors: tensor \"model.norm.weight\" ends before"),
      std::string::npos)
      << read.error().message;
  for (int i = 0; i < 20; ++i) {
    const auto decoder = Decoder::create(
        *device_, *stream_, {.shape = shape, .limits = limits_, .folder = folder.path()});
    ASSERT_FALSE(decoder.ok());
    EXPECT_NE(decoder.error().message.find("cut off"), std::string::npos);
  }
}

TEST_P(DecodersOfFiles, AreTheSumWithAnAdapter) {
  const TransformerShape shape = parse_decoder_shape("2L4H2K16D32C48F131V").value();
  const std::vector<float> weights = random_weights(shape);
  const LoraAdapter adapter = random_adapter(shape);
  const std::vector<float> sums = with_adapter(shape, weights, adapter);
  const TemporaryFolder folder;
  write_model(folder, shape, model_tensors(shape, weights), DataType::bf16, 2);
  ASSERT_TRUE(write_adapter(folder.path() / "adapter", adapter, DataType::f32, "").ok());
  for (const DataType precision : {DataType::f32, DataType::bf16}) {
    for (int rank = 0; rank < 2; ++rank) {
      DecoderWeightSettings settings = {.precision = precision,
                                        .codes = {},
                                        .folder = folder.path(),
                                        .part = {rank, 2},
                                        .adapter = folder.path() / "adapter"};
      auto parameters = DecoderParameters::create(*device_, *stream_, shape, settings);
      ASSERT_TRUE(parameters.ok()) << parameters.error().message;
      std::vector<float> part;
      ASSERT_TRUE(parameters->copy_to_host(*stream_, part).ok());
      for (const NamedTensor& tensor :
           tensors_of_shard(shape, parameters->layout(), settings.part)) {
        for (std::int64_t i = 0; i < tensor.tensor.elements(); ++i) {
          const std::int64_t row = i / tensor.tensor.columns, column = i % tensor.tensor.columns;
          const std::size_t at = tensor.whole.offset + tensor.first +
                                 static_cast<std::size_t>(row * tensor.whole.columns + column);
          const float expected =
              precision == DataType::f32 ? sums[at] : Bf16::encode(sums[at]).decode();
          ASSERT_EQ(part[at], expected) << tensor.name << " " << row << " " << column;
        }
      }
    }
  }
}

TEST_P(DecodersOfFiles, OfAnotherAdapterAreRefused) {
  const TransformerShape shape = parse_decoder_shape("1L2H1K16D32C48F131V").value(),
                         wider = parse_decoder_shape("1L2H1K16D48C48F131V").value();
  const TemporaryFolder folder;
  write_model(folder, shape, model_tensors(shape, random_weights(shape)), DataType::bf16);
  ASSERT_TRUE(write_adapter(folder.path(), random_adapter(wider), DataType::f32, "").ok());
  const auto decoder = Decoder::create(
      *device_, *stream_,
      {.shape = shape, .limits = limits_, .folder = folder.path(), .adapter = folder.path()});
  ASSERT_FALSE(decoder.ok());
  EXPECT_NE(decoder.error().message.find("is the adapter of another one?"), std::string::npos);
}

/// Each row's largest magnitude becomes the largest code; a row of zeros stays one.
TEST_P(DecodersOfFiles, RowsAndTheirCodes) {
  constexpr std::int64_t rows = 5, width = 2 * 256 * 8 + 24;
  Random random(3);
  std::vector<float> x;
  for (std::int64_t i = 0; i < rows * width; ++i) {
    const double scale = i / width == 2 ? 0 : std::pow(10, i / width);
    x.push_back(static_cast<float>(random.normal() * scale));
  }
  for (const DataType type : {DataType::f32, DataType::bf16}) {
    const Buffer from = allocate(x.size() * 4), to = allocate(x.size() * 4);
    ASSERT_TRUE(write_weights(*stream_, from.data(), type, x));
    const std::vector<float> given = read_weights(*stream_, from.data(), type, x.size()).value();
    for (const auto& [codes, largest, relative] : {std::tuple{DataType::e4m3, 448.0, 1 / 16.0},
                                                   {DataType::e4m3_fnuz, 240.0, 1 / 16.0},
                                                   {DataType::i8, 127.0, 0.0}}) {
      SCOPED_TRACE(std::string(name_of(type)) + " " + std::string(name_of(codes)));
      QuantizedRows quantized = QuantizedRows::create(*device_, type, codes).value();
      const Buffer there = allocate(x.size()), factors = allocate(rows * 4);
      ASSERT_TRUE(
          quantized.quantize(*stream_, there.data(), factors.data(), from.data(), rows, width));
      ASSERT_TRUE(
          quantized.dequantize(*stream_, to.data(), there.data(), factors.data(), rows, width));
      const std::vector<float> found = read_weights(*stream_, to.data(), type, x.size()).value();
      const std::vector<float> scales = download<float>(factors.data(), rows);
      for (std::size_t row = 0; row < rows; ++row) {
        double most = 0;
        for (std::size_t i = 0; i < width; ++i) {
          most = std::max(most, std::fabs(double(given[row * width + i])));
        }
        EXPECT_NEAR(scales[row], most / largest, most * 1e-6);
        // Half a step of the code, and of bf16, to which the product is rounded.
        const double rounding = type == DataType::bf16 ? 1 / 256.0 : 1e-6;
        const double least = codes == DataType::i8 ? most / 254 : most / largest / 1024;
        for (std::size_t i = 0; i < width; ++i) {
          const double expected = given[row * width + i];
          ASSERT_NEAR(found[row * width + i], expected,
                      std::fabs(expected) * (relative + rounding) + least * 1.0001)
              << row << " " << i;
        }
      }
    }
  }
}

ASSAY_KERNEL_BUILDS(DecodersOfFiles);

}  // namespace
}  // namespace assay

// Decoders of every kind against the reference in double precision, and what they generate.
#include "model/decoder/decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/random.h"
#include "model/decoder/decoder_self_check.h"
#include "model/operations/quantized_rows.h"
#include "model/operations/token_rows.h"
#include "model/operations/vector_product.h"
#include "model/tensors/weights.h"
#include "model/transformer/named_shapes.h"
#include "model/transformer/transformer_oracle.h"
#include "support/decoder_reference.h"
#include "support/kernel_test.h"

namespace assay {
namespace {

class Decoders : public KernelTest {
 protected:
  static constexpr DataType types[] = {DataType::f32, DataType::bf16};

  void expect_gate(const TransformerShape& shape) {
    for (const DataType type : types) {
      const auto gate =
          check_decoder(*device_, *stream_, {.shape = shape, .limits = {}, .precision = type});
      ASSERT_TRUE(gate.ok()) << gate.error().message;
      EXPECT_TRUE(gate->passed()) << name_of(type) << ": " << gate->error;
      EXPECT_GT(gate->error, 0);
    }
  }
};

TEST_P(Decoders, OfLlama) {
  TransformerShape shape = parse_decoder_shape("1L8H2K64D64C").value();
  shape.rope_scaling = RopeScaling{.original_positions = 32};  // so that it matters
  expect_gate(shape);
}

TEST_P(Decoders, OfQwen3) {
  TransformerShape shape = parse_decoder_shape("1L2H1K128D64C").value();
  shape.head_norms = true;
  shape.tied = true;
  expect_gate(shape);
}

TEST_P(Decoders, OfQwen2) {
  TransformerShape shape = parse_decoder_shape("1L7H1K32D64C").value();
  shape.biases = Biases::qkv;
  expect_gate(shape);
}

TEST_P(Decoders, OfHeadsThatShareNothing) {
  expect_gate(parse_decoder_shape("1L2H2K16D64C").value());
}

/// Alone, and beside matrices and inputs of fp8.
TEST_P(Decoders, OfACacheOfCodes) {
  TransformerShape shape = parse_decoder_shape("1L4H2K64D64C").value();
  shape.head_norms = true;
  const auto codes = cache_codes_named("fp8", device_->facts());
  for (const DataType type : types) {
    for (const bool all_fp8 : {false, true}) {
      DecoderSettings settings = {
          .shape = shape, .limits = {}, .precision = type, .cache_codes = codes};
      if (all_fp8) settings.quantization = {codes, InputCodes::always};
      const auto gate = check_decoder(*device_, *stream_, settings);
      ASSERT_TRUE(gate.ok()) << gate.error().message;
      EXPECT_TRUE(gate->passed()) << name_of(type) << ": " << gate->error;
      settings.cache_codes.reset();
      const auto without = check_decoder(*device_, *stream_, settings);
      ASSERT_TRUE(without.ok()) << without.error().message;
      EXPECT_GT(gate->error, without->error) << "no codes were read";
    }
  }
}

/// Whether a token's key and value are stored beside others of a prompt or alone, attention reads
/// what is stored, so tokens are the same.
TEST_P(Decoders, ReadWhatACacheOfCodesHolds) {
  DecoderSettings settings = {
      .shape = parse_decoder_shape("2L4H2K64D64C96F131V").value(),
      .limits = {.tokens = 32, .results = 32, .sequences = 1, .positions = 32, .blocks = 4},
      .precision = DataType::f32,
      .cache_codes = cache_codes_named("fp8", device_->facts())};
  auto decoder = Decoder::create(*device_, *stream_, settings).value();
  ASSERT_TRUE(decoder->set_tables(*stream_, {2, 0}));
  std::vector<std::int32_t> text;
  for (std::int32_t i = 0; i < 20; ++i) text.push_back(i * i % 131);
  DecoderTokens all;
  for (std::int32_t i = 0; i < 20; ++i) {
    all.tokens.push_back(text[static_cast<std::size_t>(i)]);
    all.positions.push_back(i);
    all.sequences.push_back(0);
    all.results.push_back(i);
  }
  ASSERT_TRUE(decoder->set_tokens(*stream_, all));
  ASSERT_TRUE(decoder->enqueue(*stream_, {20, 20, 19}));
  const std::vector<float> together = decoder->logits(*stream_, 20).value();
  const std::vector<float> weights = decoder->weights(*stream_).value();
  TransformerOracle oracle(settings.shape, {weights.begin(), weights.end()});
  const std::vector<double> exact = oracle.logits(text);
  oracle.change_cached(
      [&](std::span<double> vector) { round_to_codes(*settings.cache_codes, vector); });
  // In f32 hardly a code is another one: the reference with the same rounding has these logits.
  const std::vector<double> rounded = oracle.logits(text);
  EXPECT_LE(relative_distance(together, rounded), 1e-3);
  EXPECT_GT(relative_distance(together, exact), 5e-3);
  EXPECT_LT(relative_distance(together, exact), 5e-2);
  ASSERT_TRUE(decoder->set_tables(*stream_, {1, 3}));
  std::vector<float> alone;
  for (std::int32_t i = 0; i < 20; ++i) {
    ASSERT_TRUE(
        decoder->set_tokens(*stream_, {{text[static_cast<std::size_t>(i)]}, {i}, {0}, {0}}));
    ASSERT_TRUE(
        decoder->enqueue(*stream_, {.tokens = 1, .results = 1, .longest = i, .apart = true}));
    const auto logits = decoder->logits(*stream_, 1).value();
    alone.insert(alone.end(), logits.begin(), logits.end());
  }
  EXPECT_LE(relative_distance(alone, rounded), 1e-3);
}

TEST_P(Decoders, GenerateTheMostLikelyTokens) {
  DecoderSettings settings = {
      .shape = parse_decoder_shape("2L4H2K16D64C96F131V").value(),
      .limits = {.tokens = 8, .results = 2, .sequences = 2, .positions = 48, .blocks = 6},
      .precision = DataType::f32};
  auto decoder = Decoder::create(*device_, *stream_, settings).value();
  ASSERT_TRUE(decoder->set_tables(*stream_, {0, 2, 4, 1, 3, 5}));
  const std::vector<float> weights = decoder->weights(*stream_).value();
  const TransformerOracle oracle(settings.shape, {weights.begin(), weights.end()});
  std::vector<std::int32_t> texts[2] = {{17, 3, 99, 130}, {5, 6, 7}};
  const auto append_expected = [&] {
    for (auto& text : texts) {
      const std::vector<double> logits = oracle.logits(text);
      const auto last = logits.end() - settings.shape.vocabulary;
      text.push_back(static_cast<std::int32_t>(std::max_element(last, logits.end()) - last));
    }
  };
  ASSERT_TRUE(decoder->set_tokens(*stream_, {.tokens = {17, 3, 99, 130, 5, 6, 7},
                                             .positions = {0, 1, 2, 3, 0, 1, 2},
                                             .sequences = {0, 0, 0, 0, 1, 1, 1},
                                             .results = {3, 6}}));
  ASSERT_TRUE(decoder->enqueue(*stream_, {7, 2, 3}));
  append_expected();
  std::vector<std::int32_t> next = decoder->next_tokens(*stream_, 2).value();
  EXPECT_EQ(next, (std::vector<std::int32_t>{texts[0].back(), texts[1].back()}));
  // From here on the device continues by itself, by one captured pass.
  ASSERT_TRUE(decoder->set_tokens(
      *stream_, {.tokens = next, .positions = {4, 3}, .sequences = {0, 1}, .results = {0, 1}}));
  const DecoderPass pass = {2, 2, settings.limits.positions - 1};
  ASSERT_TRUE(decoder->enqueue(*stream_, pass));  // chooses how products are computed
  ASSERT_TRUE(stream_->begin_capture());
  ASSERT_TRUE(decoder->enqueue(*stream_, pass));
  ASSERT_TRUE(decoder->advance(*stream_, pass));
  const auto graph = stream_->end_capture();
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  for (int i = 0; i < 32; ++i) {
    ASSERT_TRUE(stream_->launch(**graph));
    append_expected();
    next = decoder->next_tokens(*stream_, 2).value();
    ASSERT_EQ(next, (std::vector<std::int32_t>{texts[0].back(), texts[1].back()})) << i;
  }
}

TEST_P(Decoders, ComputePromptsBesideTokensThatNeedTheCache) {
  const DecoderSettings settings = {
      .shape = parse_decoder_shape("1L2H1K64D128C96F131V").value(),
      .limits = {.tokens = 24, .results = 5, .sequences = 5, .positions = 16, .blocks = 5},
      .precision = DataType::bf16};
  auto decoder = Decoder::create(*device_, *stream_, settings).value();
  ASSERT_TRUE(decoder->set_tables(*stream_, {3, 1, 4, 0, 2}));
  const std::vector<float> weights = decoder->weights(*stream_).value();
  const TransformerOracle oracle(settings.shape, {weights.begin(), weights.end()});
  GrowingTexts texts(5);
  texts.append(0, 5);
  ASSERT_TRUE(decoder->set_tokens(*stream_, texts.pass()));
  ASSERT_TRUE(decoder->enqueue(*stream_, {5, 1, 4, {{0, 5, 1}}}));
  texts.append(0, 1);  // the next token of the first sequence
  texts.append(1, 7);
  texts.append(2, 7);
  texts.append(3, 4);
  texts.append(4, 3);  // as the first part of a longer prompt
  ASSERT_TRUE(decoder->set_tokens(*stream_, texts.pass()));
  ASSERT_TRUE(decoder->enqueue(*stream_, {22, 5, 6, {{1, 7, 2}, {15, 4, 1}}}));
  const std::vector<double> expected = texts.last_logits(oracle, settings.shape.vocabulary);
  EXPECT_LE(relative_distance(decoder->logits(*stream_, 5).value(), expected),
            logits_tolerance(DataType::bf16, 1));
}

TEST_P(Decoders, CutTheKeysOfFewTokens) {
  const std::int64_t prompt = 150;
  DecoderSettings settings = {
      .shape = parse_decoder_shape("1L2H1K16D64C96F131V").value(),
      .limits = {.tokens = prompt, .results = 1, .sequences = 1, .positions = 160, .blocks = 10}};
  // The last token alone is multiplied by products of a vector on a GPU, quantized or not.
  for (const auto& [type, codes] :
       {std::pair<DataType, std::optional<DataType>>{DataType::f32, std::nullopt},
        {DataType::bf16, std::nullopt},
        {DataType::f32, DataType::e4m3},
        {DataType::bf16, DataType::e4m3_fnuz},
        {DataType::bf16, DataType::i8}}) {
    settings.precision = type;
    settings.quantization.codes = codes;
    auto decoder = Decoder::create(*device_, *stream_, settings).value();
    ASSERT_TRUE(decoder->set_tables(*stream_, {3, 1, 4, 0, 5, 9, 2, 6, 8, 7}));
    const std::vector<float> weights = decoder->weights(*stream_).value();
    const TransformerOracle oracle(settings.shape, {weights.begin(), weights.end()});
    DecoderTokens tokens;
    for (std::int32_t i = 0; i < prompt; ++i) {
      tokens.tokens.push_back(i * 7 % 131);
      tokens.positions.push_back(i);
      tokens.sequences.push_back(0);
    }
    tokens.results = {prompt - 1};
    std::vector<std::int32_t> text = tokens.tokens;
    ASSERT_TRUE(decoder->set_tokens(*stream_, tokens));
    ASSERT_TRUE(decoder->enqueue(*stream_, {prompt, 1, prompt - 1}));
    text.push_back(77);
    ASSERT_TRUE(decoder->set_tokens(*stream_, {{77}, {prompt}, {0}, {0}}));
    ASSERT_TRUE(decoder->enqueue(*stream_, {1, 1, prompt}));
    const std::vector<double> logits = oracle.logits(text);
    const std::vector<double> expected(logits.end() - settings.shape.vocabulary, logits.end());
    EXPECT_LE(relative_distance(decoder->logits(*stream_, 1).value(), expected),
              logits_tolerance(type, 1))
        << name_of(type) << (codes ? name_of(*codes) : "");
  }
}

/// Each way to join a product; outputs and inputs that fill no wave, and enough outputs for each
/// wave to compute several. For quantized matrices the reference uses the numbers of their codes.
TEST_P(Decoders, ProductsOfAVector) {
  constexpr double epsilon = 0.25;
  std::size_t outputs = 37, inputs = 2 * 64 * 16 * 4 + 112;
  Random random(5);
  const auto upload = [&](DataType type, std::size_t count, std::vector<float>& host) {
    Buffer buffer = allocate(count * size_of(type));
    host.clear();
    for (std::size_t i = 0; i < count; ++i) host.push_back(static_cast<float>(random.normal()));
    EXPECT_TRUE(write_weights(*stream_, buffer.data(), type, host));
    host = read_weights(*stream_, buffer.data(), type, count).value();
    return buffer;
  };
  const auto check = [&](DataType type, std::optional<DataType> codes, VectorVariant variant) {
    VectorProduct products = VectorProduct::create(*device_, type, epsilon, codes, variant).value();
    std::vector<float> x, w, norm, bias, before;
    const Buffer x_there = upload(type, inputs, x), w_there = upload(type, 2 * outputs * inputs, w);
    const Buffer norm_there = upload(type, inputs, norm), bias_there = upload(type, outputs, bias);
    const Buffer y = upload(type, outputs + 1, before);
    StoredMatrix matrix = {w_there.data()};
    Buffer quantized, factors;
    if (codes) {
      QuantizedRows rows = QuantizedRows::create(*device_, DataType::f32, *codes).value();
      quantized = allocate(w.size());
      factors = allocate(2 * outputs * sizeof(float));
      const Buffer numbers = KernelTest::upload(w);
      EXPECT_TRUE(rows.quantize(*stream_, quantized.data(), factors.data(), numbers.data(),
                                2 * outputs, inputs));
      EXPECT_TRUE(rows.dequantize(*stream_, numbers.data(), quantized.data(), factors.data(),
                                  2 * outputs, inputs));
      w = download<float>(numbers.data(), w.size());
      matrix = {quantized.data(), factors.as<float>()};
    }
    const auto product = [&](std::size_t output, bool normed) {
      double sum = 0, squares = 0;
      for (std::size_t i = 0; i < inputs; ++i) {
        squares += double(x[i]) * x[i];
        sum += double(x[i]) * w[output * inputs + i] * (normed ? norm[i] : 1);
      }
      return normed ? sum / std::sqrt(squares / double(inputs) + epsilon) : sum;
    };
    const auto expect = [&](auto expected_of, const char* what) {
      std::vector<double> expected;
      for (std::size_t i = 0; i < outputs; ++i) expected.push_back(expected_of(i));
      const auto found = read_weights(*stream_, y.data(), type, outputs + 1).value();
      EXPECT_LT(relative_distance(found, expected), type == DataType::f32 ? 1e-5 : 1e-2)
          << what << " " << name_of(type) << " " << (codes ? name_of(*codes) : "");
      EXPECT_EQ(found.back(), before.back()) << "behind the outputs";
    };
    const VectorProduct::Shape shape = {std::int64_t(outputs), std::int64_t(inputs)};
    ASSERT_TRUE(products.forward(*stream_, y.data(), x_there.data(), matrix, shape,
                                 {.bias = bias_there.data(), .add = true}));
    expect([&](std::size_t o) { return product(o, false) + bias[o] + before[o]; }, "sum");
    ASSERT_TRUE(products.forward(*stream_, y.data(), x_there.data(), matrix, shape,
                                 {.norm = norm_there.data()}));
    expect([&](std::size_t o) { return product(o, true); }, "normed");
    ASSERT_TRUE(products.forward_swiglu(*stream_, y.data(), x_there.data(), matrix, shape,
                                        norm_there.data()));
    expect(
        [&](std::size_t o) {
          const double gate = product(o, true);
          return gate / (1 + std::exp(-gate)) * product(outputs + o, true);
        },
        "SwiGLU");
  };
  for (const DataType type : types) {
    check(type, std::nullopt, {});
    for (const DataType codes : {DataType::e4m3, DataType::e4m3_fnuz, DataType::i8}) {
      check(type, codes, {});
    }
  }
  const VectorVariant usual = {};
  const DeviceFacts& facts = device_->facts();
  const int waves = facts.runs_on_host ? 1 : 256 / facts.wave_size * usual.launched;
  outputs = static_cast<std::size_t>(5 * facts.multiprocessors * waves + 3);  // two for a wave
  inputs = 64 * 16 + 48;
  check(DataType::bf16, std::nullopt, usual);
  check(DataType::bf16, DataType::i8, usual);
}

/// Which one a device finds fastest changes no bit: of matrices whose rows fill some rounds of
/// loads ahead and a part, where each wave has several outputs.
TEST_P(Decoders, VariantsOfVectorProductsGiveTheSameBits) {
  const DeviceFacts& facts = device_->facts();
  const int waves = facts.runs_on_host ? 1 : 256 / facts.wave_size;
  const std::int64_t outputs = 5 * facts.multiprocessors * waves + 3, inputs = 8 * 64 * 16 + 48;
  const auto random = [&](std::int64_t count, std::uint64_t seed) {
    Random numbers(seed);
    std::vector<float> all;
    for (std::int64_t i = 0; i < count; ++i) all.push_back(static_cast<float>(numbers.normal()));
    return upload(all);
  };
  const Buffer x = random(inputs, 1), matrix = random(outputs * inputs, 2),
               y = allocate(static_cast<std::size_t>(outputs) * sizeof(float));
  const auto check = [&](const StoredMatrix& of, std::optional<DataType> codes) {
    std::vector<float> first;
    std::set<std::string> built;
    for (VectorVariant variant : VectorProduct::variants()) {
      variant.launched = 1;
      if (!built.insert(variant.name()).second) continue;
      VectorProduct products =
          VectorProduct::create(*device_, DataType::f32, 1e-5, codes, variant).value();
      ASSERT_TRUE(products.forward(*stream_, y.data(), x.data(), of, {outputs, inputs}, {}));
      const std::vector<float> found = download<float>(y.data(), static_cast<std::size_t>(outputs));
      if (first.empty()) first = found;
      EXPECT_EQ(found, first) << variant.name();
    }
  };
  check({matrix.data()}, std::nullopt);
  for (const DataType type : {DataType::e4m3, DataType::i8}) {
    QuantizedRows rows = QuantizedRows::create(*device_, DataType::f32, type).value();
    const Buffer codes = allocate(static_cast<std::size_t>(outputs * inputs)),
                 factors = allocate(static_cast<std::size_t>(outputs) * sizeof(float));
    ASSERT_TRUE(
        rows.quantize(*stream_, codes.data(), factors.data(), matrix.data(), outputs, inputs));
    check({codes.data(), factors.as<float>()}, type);
  }
}

/// Blocks share rows where there are few; of equal logits the first is taken, whichever block has
/// it.
TEST_P(Decoders, TheMostLikelyTokenIsTheFirstOfTheLargest) {
  TokenRows tokens = TokenRows::create(*device_, DataType::f32).value();
  constexpr std::int64_t vocabulary = 20'003, columns = 20'008;
  for (const std::int64_t rows : {1, 3, 700}) {
    std::vector<float> logits(static_cast<std::size_t>(rows * columns),
                              9);  // behind the vocabulary
    std::vector<std::int32_t> expected;
    Random numbers(static_cast<std::uint64_t>(rows));
    for (std::int64_t row = 0; row < rows; ++row) {
      float* const of_row = logits.data() + row * columns;
      std::generate_n(of_row, vocabulary, [&] { return -static_cast<float>(numbers.uniform()); });
      const auto first = static_cast<std::int64_t>(numbers.uniform() * vocabulary);
      const auto second = static_cast<std::int64_t>(numbers.uniform() * vocabulary);
      of_row[first] = of_row[second] = 1;
      expected.push_back(static_cast<std::int32_t>(std::min(first, second)));
    }
    const Buffer there = upload(logits), next = allocate(expected.size() * sizeof(std::int32_t));
    for (int again = 0; again < 2; ++again) {
      ASSERT_TRUE(
          tokens.most_likely(*stream_, next.data(), there.data(), rows, vocabulary, columns));
      EXPECT_EQ(download<std::int32_t>(next.data(), expected.size()), expected) << rows;
    }
  }
}

/// For each product, in turns with the others, and attention to the cache.
TEST_P(Decoders, ChooseByMeasuring) {
  if (device_->facts().runs_on_host) GTEST_SKIP() << "on a CPU the library multiplies";
  const DecoderSettings settings = {
      .shape = parse_decoder_shape("1L2H1K64D64C96F131V").value(),
      .limits = {.tokens = 4, .results = 4, .sequences = 1, .positions = 16, .blocks = 1},
      .quantization = {DataType::e4m3},
      .measure_variants = true};
  auto decoder = Decoder::create(*device_, *stream_, settings).value();
  ASSERT_TRUE(decoder->set_tables(*stream_, {0}));
  const DecoderTokens tokens = {{7, 21, 3, 130}, {0, 1, 2, 3}, {0, 0, 0, 0}, {0, 1, 2, 3}};
  ASSERT_TRUE(decoder->set_tokens(*stream_, tokens));
  const DecoderPass pass = {4, 4, 3};
  const Status queued = decoder->enqueue(*stream_, pass);
  ASSERT_TRUE(queued) << queued.error().message;
  const std::vector<float> weights = decoder->weights(*stream_).value();
  const TransformerOracle oracle(settings.shape, {weights.begin(), weights.end()});
  EXPECT_LE(relative_distance(decoder->logits(*stream_, 4).value(), oracle.logits(tokens.tokens)),
            logits_tolerance(DataType::bf16, 1));
  EXPECT_THAT(decoder->variants().multipliers_of(pass),
              testing::AnyOf(testing::HasSubstr("ahead"), "library"));
}

TEST_P(Decoders, AttendByWhatTheirSettingsSay) {
  DecoderSettings settings = {
      .shape = parse_decoder_shape("1L2H1K64D64C131V").value(),
      .limits = {.tokens = 4, .results = 1, .sequences = 1, .positions = 16, .blocks = 1}};
  const auto used = [&] {
    const auto decoder = Decoder::create(*device_, *stream_, settings).value();
    const auto units = [&](std::int64_t tokens) {
      return std::string(name_of(decoder->variants().cache_attention({.tokens = tokens}).units()));
    };
    return units(1) + ", " + units(4);
  };
  EXPECT_EQ(used(), "vector units, vector units");  // nothing is measured on a CPU or an emulator
  settings.cache_attention = PagedUnits::matrix;
  EXPECT_EQ(used(), "matrix units, matrix units");
}

TEST_P(Decoders, RefuseWhatTheyHaveNoRoomFor) {
  const DecoderSettings settings = {
      .shape = parse_decoder_shape("1L2H1K16D64C131V").value(),
      .limits = {.tokens = 4, .results = 1, .sequences = 1, .positions = 16, .blocks = 1},
      .precision = DataType::f32};
  auto decoder = Decoder::create(*device_, *stream_, settings).value();
  const auto refused = [&](const DecoderTokens& tokens) {
    return !decoder->set_tokens(*stream_, tokens).ok();
  };
  EXPECT_FALSE(refused({{130}, {15}, {0}, {0}}));
  EXPECT_TRUE(refused({{131}, {0}, {0}, {0}}));
  EXPECT_TRUE(refused({{-1}, {0}, {0}, {0}}));
  EXPECT_TRUE(refused({{1}, {16}, {0}, {0}}));
  EXPECT_TRUE(refused({{1}, {0}, {1}, {0}}));
  EXPECT_TRUE(refused({{1}, {0}, {0}, {1}}));
  EXPECT_TRUE(refused({{1}, {0}, {}, {0}}));
  EXPECT_TRUE(refused({{1, 1, 1, 1, 1}, {0, 1, 2, 3, 4}, {0, 0, 0, 0, 0}, {0}}));
  EXPECT_FALSE(decoder->set_tables(*stream_, {1}).ok());
  EXPECT_FALSE(decoder->set_tables(*stream_, {0, 0}).ok());
}

ASSAY_KERNEL_BUILDS(Decoders);

}  // namespace
}  // namespace assay

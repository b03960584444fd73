// Shapes of transformers: what they count, against published numbers, and how they are read.
#include "model/transformer/named_shapes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numbers>

#include "model/decoder/decoder.h"

namespace assay {
namespace {

using testing::HasSubstr;

TEST(NamedDecoders, HasThePublishedParameters) {
  const std::pair<const char*, double> published[] = {
      {"llama3.2-1b", 1235814400}, {"llama3.2-3b", 3212749824},  {"llama3-8b", 8030261248},
      {"llama3.1-8b", 8030261248}, {"llama3-70b", 70553706496},  {"qwen3-0.6b", 596049920},
      {"qwen3-1.7b", 1720574976},  {"qwen3-4b", 4022468096},     {"qwen3-8b", 8190735360},
      {"qwen3-14b", 14768307200},  {"qwen3-32b", 32762123264},   {"qwen2-0.5b", 494032768},
      {"qwen2.5-0.5b", 494032768}, {"qwen2.5-1.5b", 1543714304}, {"qwen2.5-3b", 3085938688},
      {"qwen2.5-7b", 7615616512},
  };
  for (const auto& [name, parameters] : published) {
    const TransformerShape shape = parse_decoder_shape(name).value();
    EXPECT_EQ(shape.parameters(), parameters) << name;
    EXPECT_TRUE(validate(shape)) << name;
  }
}

TEST(NamedDecoders, CountsProductsCacheAndOperations) {
  const TransformerShape llama = parse_decoder_shape("llama3-8b").value();
  EXPECT_EQ(llama.products(), 7504658432);
  EXPECT_EQ(2 * llama.cache_elements(), 131072);  // bytes of bf16
  EXPECT_EQ(2 * parse_decoder_shape("qwen3-8b").value().cache_elements(), 147456);
  // A prompt of 2048 tokens: 29.7 TFLOP with a head for every token, less with one for the last.
  EXPECT_NEAR(llama.flops(2048, 0), 29.7e12, 1.1e12);
  const double pairs = 2048 * 2049 / 2.0;
  EXPECT_EQ(llama.flops(2048, 0), 2 * llama.layer_products() * 2048 + 2 * llama.head_products() +
                                      4.0 * 32 * 4096 * pairs);
  // Two passes of one prompt compute what one does, and a head more.
  EXPECT_DOUBLE_EQ(llama.flops(100, 0) + llama.flops(28, 100) - 2 * llama.head_products(),
                   llama.flops(128, 0));
}

/// A factor of f32 for each key and each value is 1/32 of heads 128 wide.
TEST(NamedDecoders, HaveCachesOfNumbersOrCodes) {
  DecoderSettings settings = {.shape = parse_decoder_shape("qwen3-8b").value(), .limits = {}};
  EXPECT_EQ(settings.cache_bytes_of_token(), 147456U);
  settings.cache_codes = DataType::e4m3;
  EXPECT_EQ(settings.cache_bytes_of_token(), 76032U);
  settings.part = {.rank = 1, .ranks = 4};
  EXPECT_EQ(settings.cache_bytes_of_token(), 76032U / 4);
  settings.limits = {.tokens = 1, .results = 1, .sequences = 1, .positions = 16, .blocks = 10};
  EXPECT_EQ(memory_of(settings).cache, 160 * 76032U / 4);
}

TEST(NamedDecoders, ReadsNumbersWithLetters) {
  const TransformerShape shape = parse_decoder_shape("2L6H2K64D256C512F1000V").value();
  EXPECT_EQ(shape.layers, 2);
  EXPECT_EQ(shape.heads, 6);
  EXPECT_EQ(shape.kv_heads, 2);
  EXPECT_EQ(shape.head_width, 64);
  EXPECT_EQ(shape.width, 256);
  EXPECT_EQ(shape.hidden, 512);
  EXPECT_EQ(shape.vocabulary, 1000);
  EXPECT_EQ(shape.qkv_width(), 640);
  EXPECT_EQ(shape.padded_vocabulary(), 1024);
  const TransformerShape usual = parse_decoder_shape("1l4h128c").value();
  EXPECT_EQ(usual.kv_heads, 4);
  EXPECT_EQ(usual.head_width, 32);
  EXPECT_EQ(usual.hidden, 512);
}

TEST(NamedDecoders, RefusesWhatIsNoneAndSaysWhy) {
  const auto why = [](const char* text) { return parse_decoder_shape(text).error().message; };
  EXPECT_THAT(why(""), HasSubstr("is not a model"));
  EXPECT_THAT(why("llama3-8"), HasSubstr("llama3-8b"));
  EXPECT_THAT(why("2L2L4H64C"), HasSubstr("gives L twice"));
  EXPECT_THAT(why("2L4H"), HasSubstr("lacks"));
  EXPECT_THAT(why("2L4H64C9X"), HasSubstr("unknown letter X"));
  EXPECT_THAT(why("0L4H64C"), HasSubstr("out of range"));
  EXPECT_THAT(why("2L4H3K64D64C"), HasSubstr("4 heads share 3"));
  EXPECT_THAT(why("2L9H1K64D64C"), HasSubstr("1 to 8"));
  EXPECT_THAT(why("2L4H48D64C"), HasSubstr("16, 32, 64 and 128"));
  EXPECT_THAT(why("2L4H64D60C"), HasSubstr("multiples of 8"));
  EXPECT_THAT(why("5000L4H64D64C"), HasSubstr("5000 layers"));
}

TEST(NamedDecoders, RotatesAsLlama31) {
  TransformerShape shape = parse_decoder_shape("llama3-8b").value();
  const std::vector<double> before = rotary_frequencies(shape);
  ASSERT_EQ(before.size(), 64);
  EXPECT_EQ(before[0], 1);
  EXPECT_NEAR(before[32], 1 / std::sqrt(500000), 1e-15);
  shape.rope_scaling = RopeScaling{};
  const std::vector<double> after = rotary_frequencies(shape);
  for (std::size_t i = 0; i < before.size(); ++i) {
    const double wavelength = 2 * std::numbers::pi / before[i];
    if (wavelength < 8192 / 4.0) {
      EXPECT_EQ(after[i], before[i]) << i;
    } else if (wavelength > 8192) {
      EXPECT_EQ(after[i], before[i] / 8) << i;
    } else {
      EXPECT_LT(after[i], before[i]) << i;
      EXPECT_GT(after[i], before[i] / 8) << i;
    }
  }
}

/// Parameters of the seed's sizes at 512 positions without biases: they fit its TFLOPS
/// (6 N tokens/s), and with biases PyTorch's own counts.
TEST(NamedGpts, CountsAreThoseOfTheField) {
  const std::vector<std::pair<const char*, double>> counts = {
      {"30M", 30122112}, {"124M", 123963648}, {"7B", 5241647104}};
  for (const auto& [name, expected] : counts) {
    TransformerShape shape = parse_gpt_shape(name).value();
    shape.positions = 512;
    shape.biases = Biases::none;
    EXPECT_EQ(shape.parameters(), expected) << name;
  }
  TransformerShape shape = parse_gpt_shape("354M").value();
  shape.positions = 512;
  EXPECT_NEAR(shape.parameters(), 354.3e6, 0.05e6);
}

TEST(NamedGpts, NumbersWithLettersAreShapes) {
  const auto shape = parse_gpt_shape("6l6H384C");
  ASSERT_TRUE(shape);
  EXPECT_EQ(*shape, parse_gpt_shape("30M").value());
  const auto other = parse_gpt_shape("V256"), missing = parse_gpt_shape("6L6H");
  ASSERT_FALSE(other);
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr("lacks layers (L), heads (H) or width (C)"));
  for (const char* text : {"", "L6", "6L6L", "6L6H384Cx", "6L5H384C", "6L6H36C", "0L6H384C",
                           "99999999999999999999L", "6L6H384C5F", "6L6H384C1V", "124m"}) {
    const auto refused = parse_gpt_shape(text);
    ASSERT_FALSE(refused) << text;
    EXPECT_EQ(refused.error().kind, ErrorKind::usage) << text;
  }
}

}  // namespace
}  // namespace assay

#include "model/decoder/decoder_self_check.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

#include "compute/stored_elements.h"
#include "core/random.h"
#include "model/transformer/transformer_oracle.h"

namespace assay {
namespace {

// More tokens than attention reads without cutting the keys into parts. The first pass has more
// rows than skinny GEMMs take, the second as many as they take, and the others reach their other
// kernels.
constexpr std::int64_t prompt_tokens[] = {110, 21}, first_part = 46, generated_tokens = 5;
static_assert(prompt_tokens[0] - first_part == SkinnyProduct::most_rows);

/// Small, and awkward: but for heads, no size is a multiple of more than the 16 elements that some
/// products read together. With several ranks, the shard of each has these sizes.
DecoderSettings small_version_of(const DecoderSettings& settings) {
  DecoderSettings small = settings;
  TransformerShape& shape = small.shape;
  const TransformerShape own = own_shape(settings.shape, settings.part);
  const std::int64_t ranks = settings.part.ranks;
  const bool shares_keys = settings.shape.kv_heads < ranks;
  // Two heads of keys on each rank, or one that two ranks or more share.
  shape.kv_heads = shares_keys ? settings.shape.kv_heads : 2 * ranks;
  shape.heads = (shares_keys ? 1 : 2) * ranks * (own.heads / own.kv_heads);
  shape.layers = 2;
  shape.width = 80;
  shape.hidden = ranks * 112;
  shape.vocabulary = 101;
  small.folder.clear();
  small.measure_variants = false;  // variants of products give the same bits
  // A library may not compute prompts as awkward as those here.
  if (small.prompts.way == PromptWay::library) small.prompts.way = PromptWay::best;
  small.limits = {.tokens = 72, .results = 72, .sequences = 2, .positions = 128, .blocks = 17};
  return small;
}

/// The tokens of a sequence from `begin` to `end`, all with results.
void append(DecoderTokens& to, const std::vector<std::int32_t>& text, std::int32_t sequence,
            std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i) {
    to.results.push_back(static_cast<std::int32_t>(to.tokens.size()));
    to.tokens.push_back(text[static_cast<std::size_t>(i)]);
    to.positions.push_back(static_cast<std::int32_t>(i));
    to.sequences.push_back(sequence);
  }
}

/// The weights of all ranks.
Result<std::vector<float>> all_weights(Device& device, Stream& stream,
                                       const DecoderSettings& settings) {
  DecoderWeightSettings weights = settings.weights();
  std::vector<float> all;
  for (weights.part.rank = 0; weights.part.rank < weights.part.ranks; ++weights.part.rank) {
    auto part = TRY(DecoderParameters::create(device, stream, settings.shape, weights));
    TRY(part.copy_to_host(stream, all));
  }
  return all;
}

/// How much of the reference's own noise a decoder's may be. Both are means over thousands of
/// logits.
constexpr double most_of_noise = 1.25;

/// How far the reference's logits move if its products read codes, as those of a decoder
/// (`inputs`), and if its attention reads codes of keys and values, where the cache holds these. A
/// decoder's logits cannot be compared with these one by one: a difference in the last digit of
/// bf16 turns some codes, each by up to an eighth, and a few products later the rounding is as good
/// as independent.
double noise_of_codes(TransformerOracle oracle, const DecoderSettings& small, bool inputs,
                      const std::vector<std::int32_t> (&texts)[2],
                      const std::vector<double> (&reference)[2]) {
  // Each rank quantizes its own part of the rows that the matrices proj and down read.
  const auto is_cut = [&](const Tensor& weight) {
    return std::ranges::any_of(oracle.layout().layers, [&](const LayerParameters& layer) {
      return weight.offset == layer.proj.offset || weight.offset == layer.down.offset;
    });
  };
  if (inputs) {
    oracle.change_inputs([&](std::span<double> row, const Tensor& weight) {
      const std::size_t parts = is_cut(weight) ? static_cast<std::size_t>(small.part.ranks) : 1,
                        width = row.size() / parts;
      for (std::size_t begin = 0; begin < row.size(); begin += width) {
        round_to_codes(*small.quantization.codes, row.subspan(begin, width));
      }
    });
  }
  if (small.cache_codes) {
    oracle.change_cached(
        [&](std::span<double> vector) { round_to_codes(*small.cache_codes, vector); });
  }
  std::vector<float> moved;
  std::vector<double> expected;
  for (std::size_t i = 0; i < 2; ++i) {
    for (const double x : oracle.logits(texts[i])) moved.push_back(static_cast<float>(x));
    expected.insert(expected.end(), reference[i].begin(), reference[i].end());
  }
  return relative_distance(moved, expected);
}

/// The larger of two errors. NaN is larger than all numbers; std::max would drop it.
double larger_error(double a, double b) {
  return std::isnan(a) || a >= b ? a : b;
}

/// What a decoder makes of passes, beside what it should.
struct Logits {
  std::vector<float> found;
  std::vector<double> expected;
  bool may_be_of_codes = false;  ///< the decoder's products may read codes

  double error() const { return relative_distance(found, expected); }
};

/// `reference[sequence]`: the logits of all its tokens.
Result<Logits> logits_of(Device& device, Stream& stream, const DecoderSettings& small,
                         const std::vector<DecoderTokens>& passes,
                         const std::vector<double> (&reference)[2]) {
  Logits all;
  auto decoder = TRY(Decoder::create(device, stream, small));
  all.may_be_of_codes = decoder->may_read_codes();
  // Blocks in no order, none of a sequence beside another of it.
  TRY(decoder->set_tables(stream, {8, 1, 6, 3, 10, 12, 16, 14, 2, 7, 0, 5, 9, 11, 13, 15}));
  for (const DecoderTokens& pass : passes) {
    TRY(decoder->set_tokens(stream, pass));
    const auto rows = static_cast<std::int64_t>(pass.tokens.size());
    const std::int64_t longest = *std::max_element(pass.positions.begin(), pass.positions.end());
    // The second text is a whole prompt at the end of the first pass, beside a part of the other,
    // and of the last one.
    std::vector<PromptRows> prompts;
    if (&pass == &passes.front() || &pass == &passes.back()) {
      constexpr auto length = static_cast<std::int32_t>(prompt_tokens[1]);
      prompts.push_back({static_cast<std::int32_t>(rows) - length, length, 1});
    }
    const bool generates = rows <= 2;  // a token of each sequence, or of one
    TRY(decoder->enqueue(stream, {rows, rows, longest, std::move(prompts), generates}));
    const std::vector<float> logits = TRY(decoder->logits(stream, rows));
    all.found.insert(all.found.end(), logits.begin(), logits.end());
    for (std::size_t i = 0; i < pass.tokens.size(); ++i) {
      const auto& of_sequence = reference[static_cast<std::size_t>(pass.sequences[i])];
      const auto begin = of_sequence.begin() + pass.positions[i] * small.shape.vocabulary;
      all.expected.insert(all.expected.end(), begin, begin + small.shape.vocabulary);
    }
  }
  return all;
}

}  // namespace

void round_to_codes(DataType type, std::span<double> row) {
  double largest = 0;
  for (const double x : row) largest = std::max(largest, std::abs(x));
  const double factor = largest / (type == DataType::e4m3_fnuz ? 240 : 448);
  if (factor == 0) return;
  for (double& x : row) {
    std::uint8_t code = 0;
    store_element(type, &code, x / factor);
    x = factor * load_element(type, &code);
  }
}

namespace {

/// The size of two independent roundings together. std::hypot needs a later C library.
double together(double a, double b) {
  return std::sqrt(a * a + b * b);
}

/// Each layer rounds anew, so the variance of the roundings grows with the number of layers.
double grown_with_layers(double of_two_layers, std::int64_t layers) {
  return of_two_layers * std::sqrt(std::max(1.0, static_cast<double>(layers) / 2));
}

}  // namespace

double logits_tolerance(DataType precision, std::int64_t layers) {
  return grown_with_layers(precision == DataType::bf16 ? 2e-2 : 1e-4, layers);
}

double noise_tolerance(RoundedToCodes rounded, const TransformerShape& shape) {
  // Measured with random weights (bench_decoder_quality; 36 layers on an H200): rounding inputs to
  // codes moves logits of two layers of width 4096 by 0.13, rounding the cache by 0.07, and those
  // of width 256 by 0.06 and 0.03, about the cube root of the widths' ratio. With 36 layers of
  // width 4096 (Qwen3-8B) inputs move logits by 0.39, the cache by 0.25, and both by 0.46: about
  // the power 0.4 of the number of layers. A quarter is added. Logits that have nothing in common
  // are sqrt(2) apart, so more than 1 is never allowed.
  constexpr double inputs = 0.13, cache = 0.075, power = 0.4;
  const double width =
                   std::cbrt(static_cast<double>(std::max<std::int64_t>(shape.width, 1024)) / 4096),
               depth = std::pow(std::max(1.0, static_cast<double>(shape.layers) / 2), power);
  const double noise = together(rounded.inputs ? inputs : 0, rounded.cache ? cache : 0);
  return std::min(1.0, 1.25 * noise * width * depth);
}

double relative_distance(std::span<const float> found, std::span<const double> expected) {
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    difference += (found[i] - expected[i]) * (found[i] - expected[i]);
    size += expected[i] * expected[i];
  }
  return std::sqrt(difference / size);
}

Result<DecoderGate> check_decoder(Device& device, Stream& stream, const DecoderSettings& settings) {
  DecoderSettings small = small_version_of(settings);
  Random random(settings.seed);
  std::vector<std::int32_t> texts[2];
  for (std::size_t i = 0; i < 2; ++i) {
    for (std::int64_t t = 0; t < prompt_tokens[i] + generated_tokens + 1; ++t) {
      texts[i].push_back(static_cast<std::int32_t>(
          random.next() % static_cast<std::uint64_t>(small.shape.vocabulary)));
    }
  }
  std::vector<DecoderTokens> passes(2);
  append(passes[0], texts[0], 0, 0, first_part);
  append(passes[0], texts[1], 1, 0, prompt_tokens[1]);
  append(passes[1], texts[0], 0, first_part, prompt_tokens[0]);
  for (std::int64_t t = 0; t < generated_tokens; ++t) {
    DecoderTokens& pass = passes.emplace_back();
    append(pass, texts[0], 0, prompt_tokens[0] + t, prompt_tokens[0] + t + 1);
    append(pass, texts[1], 1, prompt_tokens[1] + t, prompt_tokens[1] + t + 1);
  }
  constexpr std::int64_t alone = prompt_tokens[0] + generated_tokens;
  append(passes.emplace_back(), texts[0], 0, alone, alone + 1);     // by products of a vector
  append(passes.emplace_back(), texts[1], 1, 0, prompt_tokens[1]);  // again, as a whole prompt
  const std::vector<float> weights = TRY(all_weights(device, stream, small));
  const TransformerOracle oracle(computed_shape(small.shape, small.weights()),
                                 std::vector<double>(weights.begin(), weights.end()));
  const std::vector<double> reference[2] = {oracle.logits(texts[0]), oracle.logits(texts[1])};
  DecoderGate gate = {0, logits_tolerance(small.precision, small.shape.layers)};
  const std::vector<PagedUnits> units = cache_attention_units(device.facts(), small);
  small.quantization.input_codes = InputCodes::never;
  small.cache_codes.reset();
  for (const PagedUnits of_units : units) {
    small.cache_attention = of_units;
    gate.error =
        larger_error(gate.error, TRY(logits_of(device, stream, small, passes, reference)).error());
  }
  if (!gate.passed() || (!settings.may_quantize_inputs() && !settings.cache_codes)) return gate;
  if (settings.may_quantize_inputs()) small.quantization.input_codes = InputCodes::always;
  small.cache_codes = settings.cache_codes;
  double error = 0;
  bool inputs = false;
  for (const PagedUnits of_units : units) {
    if (!settings.cache_codes && of_units != units.back()) continue;  // only the cache differs
    small.cache_attention = of_units;
    const Logits of_codes = TRY(logits_of(device, stream, small, passes, reference));
    inputs = of_codes.may_be_of_codes;
    error = larger_error(error, of_codes.error());
  }
  if (!inputs && !settings.cache_codes) return gate;  // no library multiplies them
  // Without codes as inputs their noise is no larger than what is rounded to bf16.
  const double exact = settings.cache_codes ? gate.tolerance : 0;
  return DecoderGate{
      error,
      together(most_of_noise * noise_of_codes(oracle, small, inputs, texts, reference), exact)};
}

}  // namespace assay

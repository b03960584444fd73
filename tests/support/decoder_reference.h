// Texts for decoders, and the expected continuations by the reference in double precision.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "model/decoder/decoder.h"
#include "model/transformer/transformer_oracle.h"

namespace assay {

class ReferenceDecoder {
 public:
  /// Uses the random weights of a decoder with this shape and seed.
  ReferenceDecoder(Device& device, const TransformerShape& shape, std::uint64_t seed)
      : ReferenceDecoder(shape, weights_of(device, shape, seed)) {}
  /// `weights` are laid out as in TransformerParameters::of(shape).
  ReferenceDecoder(const TransformerShape& shape, std::vector<double> weights)
      : shape_(shape), oracle_(shape, std::move(weights)) {}

  /// Returns the `count` tokens that follow `text`.
  std::vector<std::uint32_t> generate(std::vector<std::int32_t> text, std::size_t count) const {
    std::vector<std::uint32_t> generated;
    while (generated.size() < count) {
      const std::vector<double> logits = oracle_.logits(text);
      const auto last = logits.end() - shape_.vocabulary;
      text.push_back(static_cast<std::int32_t>(std::max_element(last, logits.end()) - last));
      generated.push_back(static_cast<std::uint32_t>(text.back()));
    }
    return generated;
  }

 private:
  static std::vector<double> weights_of(Device& device, const TransformerShape& shape,
                                        std::uint64_t seed) {
    const DecoderSettings settings = {
        .shape = shape,
        .limits = {.tokens = 1, .results = 1, .sequences = 1, .positions = 16, .blocks = 1},
        .precision = DataType::f32,
        .seed = seed};
    auto stream = device.create_stream().value();
    auto decoder = Decoder::create(device, *stream, settings);
    EXPECT_TRUE(decoder.ok()) << decoder.error().message;
    const auto weights = (*decoder)->weights(*stream).value();
    return {weights.begin(), weights.end()};
  }

  TransformerShape shape_;
  TransformerOracle oracle_;
};

/// Texts, with tokens below 131, that grow from pass to pass.
class GrowingTexts {
 public:
  explicit GrowingTexts(std::size_t sequences) : texts_(sequences) {}

  /// Adds tokens to a sequence; the last one's logits are a result.
  void append(std::int32_t sequence, std::int32_t count) {
    auto& text = texts_[static_cast<std::size_t>(sequence)];
    for (std::int32_t i = 0; i < count; ++i) {
      tokens_.positions.push_back(static_cast<std::int32_t>(text.size()));
      text.push_back((sequence * 31 + tokens_.positions.back() * 7 + 3) % 131);
      tokens_.tokens.push_back(text.back());
      tokens_.sequences.push_back(sequence);
    }
    tokens_.results.push_back(static_cast<std::int32_t>(tokens_.tokens.size()) - 1);
  }
  /// Returns the tokens that were added since the last pass.
  DecoderTokens pass() { return std::exchange(tokens_, {}); }

  /// Returns the reference's logits for the last token of every text.
  std::vector<double> last_logits(const TransformerOracle& oracle, std::int64_t vocabulary) const {
    std::vector<double> last;
    for (const auto& text : texts_) {
      const std::vector<double> logits = oracle.logits(text);
      last.insert(last.end(), logits.end() - vocabulary, logits.end());
    }
    return last;
  }

 private:
  std::vector<std::vector<std::int32_t>> texts_;
  DecoderTokens tokens_;
};

}  // namespace assay

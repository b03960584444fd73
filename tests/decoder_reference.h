// What a decoder generates by the reference in double precision: the most likely tokens.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "model/decoder.h"
#include "model/decoder_oracle.h"

namespace assay {

class ReferenceDecoder {
 public:
  /// With the random weights that a decoder of this shape and seed has.
  ReferenceDecoder(Device& device, const DecoderShape& shape, std::uint64_t seed)
      : ReferenceDecoder(shape, weights_of(device, shape, seed)) {}
  /// `weights`: laid out as DecoderWeights::of(shape).
  ReferenceDecoder(const DecoderShape& shape, std::vector<double> weights)
      : shape_(shape), oracle_(shape, std::move(weights)) {}

  /// `count` tokens after `text`.
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
  static std::vector<double> weights_of(Device& device, const DecoderShape& shape,
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

  DecoderShape shape_;
  DecoderOracle oracle_;
};

}  // namespace assay

// Shapes of transformers by their names, or by their numbers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "model/transformer/transformer_shape.h"

namespace assay {

/// The names that parse_gpt_shape() knows, from the smallest: "30M", "124M", ...
const std::vector<std::string>& gpt_names();
/// The names that parse_decoder_shape() knows: "llama3-8b", "qwen3-0.6b", ...
const std::vector<std::string>& decoder_names();

/// A GPT by its name, or by its numbers in any order, each followed by its letter: "6L6H384C" is
/// 6 layers, 6 heads, width 384; F, the hidden width, is 4 C unless given, and V, the vocabulary,
/// 50257. The number of learned positions is left 0. Error: usage, naming the text and what is
/// allowed.
Result<TransformerShape> parse_gpt_shape(std::string_view text);

/// A model of Llama's or Qwen's kind by its name, or by its numbers: "2L4H2K64D256C" is 2 layers, 4
/// heads of queries and 2 of keys, each 64 wide, width 256; K is H unless given, D is C / H, F, the
/// hidden width, 4 C, and V, the vocabulary, 32000. Error: usage, naming the text and what is
/// allowed.
Result<TransformerShape> parse_decoder_shape(std::string_view text);

/// A shape of either kind. Numbers alone mean a GPT, unless K or D is among them. Error: usage,
/// naming the text and what is allowed.
Result<TransformerShape> parse_shape(std::string_view text);

}  // namespace assay

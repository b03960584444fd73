// The shape of a decoder as config.json of a Hugging Face model says it.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "model/transformer/decoder_shape.h"

namespace assay {

/// Reads FOLDER/config.json, of a model_type that Decoder computes: llama, qwen2 or qwen3. What is
/// absent has the value that the transformers package gives it. Error: usage, naming the file and
/// the value, of what is no such file or is not computed: other activations, sliding windows,
/// experts, biases elsewhere, other rotary positions, quantised weights.
Result<DecoderShape> read_decoder_config(const std::filesystem::path& folder);

/// The same of the file's text; errors do not name it.
Result<DecoderShape> parse_decoder_config(std::string_view text);

/// A text that parse_decoder_shape() reads as `shape`, or, of a shape that has no name, as one with
/// the same numbers.
std::string decoder_shape_text(const DecoderShape& shape);

/// Error: usage, if `shape` is not what a model named `model` has, naming the first difference.
Status check_decoder_shape(const DecoderShape& shape, std::string_view model);

}  // namespace assay

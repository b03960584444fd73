// The shape of a decoder as config.json of a Hugging Face model says it.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "model/transformer/named_shapes.h"

namespace assay {

/// Reads FOLDER/config.json of a llama, qwen2 or qwen3. An absent value is the default of the
/// transformers package, except that no limit of positions means none. Error: as read_operand();
/// usage, naming the file and the value, for anything that is not computed: other activations,
/// sliding windows, experts, biases elsewhere, other rotary positions, quantized weights.
Result<TransformerShape> read_decoder_config(const std::filesystem::path& folder);

/// Reads the file's text; errors do not name the file.
Result<TransformerShape> parse_decoder_config(std::string_view text);

/// A text that parse_decoder_shape() reads as `shape`, or, of a shape that has no name, as one with
/// the same numbers.
std::string decoder_shape_text(const TransformerShape& shape);

/// Error: usage, if `shape` is not what a model named `model` has, naming the first difference.
Status check_decoder_shape(const TransformerShape& shape, std::string_view model);

}  // namespace assay

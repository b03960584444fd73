// A small model that is trained on the spot on the text of a folder's files, for benchmarks of what
// depends on weights that are not random.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "compute/device/device.h"
#include "core/result.h"
#include "model/transformer/transformer_shape.h"

namespace assay {

struct TextModelSettings {
  std::filesystem::path text;  ///< a folder; its .md files are one text, a token for each byte
  std::int64_t steps = 400;    ///< of 1,024 tokens each
};

struct TextModel {
  TransformerShape shape;
  std::filesystem::path folder;         ///< of its files
  std::vector<std::int32_t> held_back;  ///< the text's last tenth, on which no step trained
  double loss = 0;                      ///< of the last steps, in nats
  double seconds = 0;                   ///< that training took
};

/// Trains a model with the form of a Qwen3 and 0.85 million parameters, and writes it in Hugging
/// Face's format below `folder`, which exists. Error: usage, if there is too little text; of the
/// device.
Result<TextModel> train_on_text(Device& device, const TextModelSettings& settings,
                                const std::filesystem::path& folder);

}  // namespace assay

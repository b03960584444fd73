// The weights of a model in training as files in Hugging Face's format.
#pragma once

#include <cstddef>
#include <filesystem>
#include <vector>

#include "compute/device/device.h"
#include "core/data_type.h"
#include "core/result.h"
#include "model/training/training.h"
#include "model/transformer/lora.h"
#include "model/transformer/transformer_parameters.h"

namespace assay {

/// Reads the weights in `kept`, ranges of the layout as elements of type `type`, from a folder's
/// model.safetensors, or the shards that its index names. Gaps between tensors stay as they are.
/// Error: usage, naming the file and what does not fit the shape; unsupported, if numbers would
/// have to be rounded to f16.
Status read_weight_files(Device& device, Stream& stream, DataType type,
                         const std::vector<ParameterArenas::Range>& kept,
                         const TransformerShape& shape, const TransformerParameters& layout,
                         const std::filesystem::path& folder);

/// Checks whether what is learnt beside or from the weights in `base`, adapters or all weights, can
/// be written to `folder`, which is made. Error: usage, if it is the same folder, or holds the
/// other kind; file or exhausted, naming the path.
Status check_output(const std::filesystem::path& folder, const std::filesystem::path& base,
                    bool adapters);

/// Writes all weights to `folder`, which is made, in shards of at most `most_shard_bytes`, if a
/// tensor is not larger, and copies the other files of the model, its configuration and tokenizer,
/// from `model`. Files of the same names are replaced once all new ones are written. All ranks call
/// it together; rank 0 writes. Error: file or exhausted, naming the file.
Status save_weights(Training& training, Stream& stream, const TransformerShape& shape,
                    const TransformerParameters& layout, const std::filesystem::path& model,
                    const std::filesystem::path& folder,
                    std::size_t most_shard_bytes = std::size_t{4} << 30);

/// Writes the adapters that were trained beside the frozen weights of the folder `base` as PEFT's
/// adapter_config.json and adapter_model.safetensors, in the type of the training or f32. All ranks
/// call it together; rank 0 writes. Error: as write_adapter().
Status save_adapters(Training& training, Stream& stream, const LoraParameters& adapters,
                     const LoraSettings& settings, const std::filesystem::path& base,
                     const std::filesystem::path& folder);

}  // namespace assay

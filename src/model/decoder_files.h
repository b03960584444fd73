// The weights of a decoder as files in Hugging Face's format: model.safetensors, or the shards that
// model.safetensors.index.json names.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "compute/device/device.h"
#include "core/input_file.h"
#include "model/decoder_layout.h"
#include "model/safetensors.h"

namespace assay {

/// A tensor of the files by its name there, and where the decoder keeps it: queries, keys and
/// values, and gate and up, are rows of one matrix here.
struct DecoderFileTensor {
  std::string name;                 ///< "model.layers.0.self_attn.q_proj.weight"
  std::vector<std::int64_t> shape;  ///< in the file
  WeightMatrix place;
};

/// Every tensor that the files of a decoder hold, each once.
std::vector<DecoderFileTensor> decoder_file_tensors(const DecoderShape& shape,
                                                    const DecoderWeights& layout);

class DecoderFiles {
 public:
  /// Opens the files and checks that they hold these tensors and no others, as BF16, F16 or F32;
  /// nothing in them is trusted. What the engine computes itself, `rotary_emb.inv_freq` and the
  /// head of a tied model, may be there and is not read. Error: usage, naming the file and the
  /// tensor.
  static Result<DecoderFiles> open(const std::filesystem::path& folder,
                                   std::vector<DecoderFileTensor> tensors);

  /// Rows in the device's memory, of type `type`, to be kept where `place` says before the stream
  /// goes on to the next ones.
  using Keep = std::function<Status(const WeightMatrix& place, const void* rows, DataType type)>;
  /// Reads every tensor once, in pieces of whole rows: while the device takes one, the next is
  /// read, so that little host memory is used beside the files' cache. Waits for the last one.
  /// Error: usage, if a file cannot be read; of the device.
  Status read(Device& device, Stream& stream, const Keep& keep) const;

 private:
  /// Where a tensor lies.
  struct Source {
    std::size_t file = 0;
    StoredTensor stored;
  };

  Status add_file(const std::filesystem::path& path);
  Status find_sources();

  std::vector<DecoderFileTensor> tensors_;
  std::vector<std::filesystem::path> paths_;
  std::vector<InputFile> files_;
  std::vector<TensorIndex> indices_;
  std::vector<Source> sources_;  // of each tensor
};

}  // namespace assay

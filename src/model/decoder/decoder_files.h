// The weights of a decoder as files in Hugging Face's format: model.safetensors, or the shards that
// model.safetensors.index.json names.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compute/device/device.h"
#include "core/input_file.h"
#include "model/tensors/fp8_scales.h"
#include "model/tensors/safetensors.h"
#include "model/transformer/checkpoint_tensors.h"
#include "model/transformer/lora_adapter.h"

namespace assay {

class DecoderFiles {
 public:
  /// Opens the files and checks that they hold these tensors, or pieces of them, and no others, as
  /// BF16, F16 or F32, or matrices as F8_E4M3 with factors (fp8_scales.h), which are handed out in
  /// f32; nothing in them is trusted. What the engine computes itself, `rotary_emb.inv_freq` and
  /// the head of a tied model, may be there and is not read. Error: as read_operand(); usage,
  /// naming the file and the tensor.
  static Result<DecoderFiles> open(const std::filesystem::path& folder,
                                   std::vector<NamedTensor> tensors);

  /// Has read() add the adapter to its matrices, which are handed out in f32 then.
  void merge(LoraAdapter adapter) { adapter_ = std::move(adapter); }

  /// The bytes that are read. Where only some columns of a matrix are wanted, whole rows are read.
  std::uint64_t bytes() const;

  /// Rows of type `type` in pinned memory, to be kept where `place` says by what is queued on the
  /// stream.
  using Keep = std::function<Status(const Tensor& place, const void* rows, DataType type)>;
  /// Reads every piece once, in pieces of whole rows: while the device takes one, the next is
  /// read, so that little host memory is used beside the files' cache. Waits for the last one.
  /// Error: as read_all_at(); usage if a number is not finite; of the device.
  Status read(Device& device, Stream& stream, const Keep& keep) const;

 private:
  /// Where a tensor lies.
  struct Source {
    std::size_t file = 0;
    StoredTensor stored;
  };

  Status add_file(const std::filesystem::path& path);
  Status find_sources();
  /// Reads the factors of tensors of F8_E4M3; those of tensor i lie at factors[i].
  Status read_scales(const std::vector<std::optional<Source>>& factors);
  /// The type in which a tensor's rows are handed out.
  DataType handed_out_type(std::size_t tensor) const;
  /// The bytes of a row of a tensor in its file.
  std::size_t row_bytes(std::size_t tensor) const;

  std::vector<NamedTensor> tensors_;
  std::vector<std::filesystem::path> paths_;
  std::vector<InputFile> files_;
  std::vector<TensorIndex> indices_;
  std::vector<Source> sources_;                   // of each tensor
  std::vector<std::optional<Fp8Scales>> scales_;  // of those of F8_E4M3
  LoraAdapter adapter_;                           // without matrices: there is none
};

}  // namespace assay

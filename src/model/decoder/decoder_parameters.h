// The weights of a decoder on a device: random, or from files; as they are, or quantized.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "compute/device/device.h"
#include "model/decoder/decoder_files.h"
#include "model/operations/elementwise.h"
#include "model/operations/quantized_rows.h"
#include "model/operations/typed_kernels.h"
#include "model/transformer/transformer_parameters.h"

namespace assay {

/// Which weights a decoder has.
struct DecoderWeightSettings {
  DataType precision = DataType::bf16;  ///< f32 or bf16
  std::optional<DataType> codes;        ///< of quantized matrices: e4m3, e4m3_fnuz or i8
  std::uint64_t seed = 1;               ///< of random ones
  std::filesystem::path folder;         ///< whose files hold them (decoder_files.h); empty: random
  TensorParallelShard part = {};        ///< what of them this rank has
  std::filesystem::path adapter = {};   ///< folder of a LoRA adapter to add to them; empty: none

  ParameterLayout layout() const { return {.quantized = codes.has_value(), .shard = part}; }
};

/// What is computed: the head of a tied model is a matrix of its own once it is quantized.
TransformerShape computed_shape(TransformerShape shape, const DecoderWeightSettings& settings);

class DecoderParameters {
 public:
  /// Allocates and writes them, and waits until they are there. `device` and `stream` must outlive
  /// it. Error: exhausted, naming the bytes; usage, if files are not of `shape`.
  static Result<DecoderParameters> create(Device& device, Stream& stream,
                                          const TransformerShape& shape,
                                          const DecoderWeightSettings& settings);
  /// Bytes of a decoder's weights on a device.
  static std::uint64_t bytes(const TransformerShape& shape, const DecoderWeightSettings& settings);

  const TransformerParameters& layout() const { return layout_; }
  /// How fast files were read and their tensors brought to the device, bytes/s; 0: there are none.
  double read_rate() const { return read_rate_; }
  /// The address of a tensor that is not quantized.
  void* at(const Tensor& t) const { return address_of(weights_, t, element_); }
  void* at_or_null(const Tensor& t) const { return t.elements() > 0 ? at(t) : nullptr; }
  /// The codes and the factors of a quantized matrix.
  void* codes_of(const Tensor& m) const { return address_of(codes_, m, 1); }
  float* factors_of(const Tensor& m) const { return factors_.as<float>() + m.factors; }
  /// The numbers of a quantized matrix, in memory that the next matrix overwrites; of another one,
  /// where it is.
  Result<void*> numbers_of(Stream& stream, const Tensor& m);

  /// Writes them in f32 where they lie in TransformerParameters::of(computed_shape()) without
  /// quantization: of several ranks each has a part of that.
  Status copy_to_host(Stream& stream, std::vector<float>& all);

 private:
  DecoderParameters(Device& device, const TransformerShape& shape,
                    const DecoderWeightSettings& settings);
  Status allocate(Stream& stream);
  Status write_random(Stream& stream);
  /// From the embedding, where the head is one and is quantized.
  Status quantize_tied_head(Stream& stream);
  Status read(Stream& stream, const DecoderFiles& files);
  /// Rows at `from`, on the device, of the precision or f32, as codes where `place` says.
  Status quantize(Stream& stream, const Tensor& place, const void* from, DataType type);
  /// The elements that numbers_of() needs memory for.
  static std::size_t largest_matrix(const TransformerParameters& layout);

  Device* device_;
  TransformerShape shape_;
  DecoderWeightSettings settings_;
  std::size_t element_;
  TransformerParameters layout_;
  Buffer weights_, codes_, factors_, numbers_;
  std::optional<QuantizedRows> quantized_, quantized_f32_;
  double read_rate_ = 0;
};

}  // namespace assay

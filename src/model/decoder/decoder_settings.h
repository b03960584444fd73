// Says what a decoder computes and how much at a time: its settings, and the size of a pass.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compute/device/device.h"
#include "core/data_type.h"
#include "model/decoder/decoder_parameters.h"
#include "model/operations/paged_attention.h"
#include "model/operations/prompt_attention.h"
#include "model/parallel/model_ranks.h"
#include "model/transformer/tensor_parallel_shard.h"
#include "model/transformer/transformer_shape.h"

namespace assay {

/// The largest sizes that a decoder allocates memory for.
struct DecoderLimits {
  std::int64_t tokens = 0;     ///< tokens of a pass
  std::int64_t results = 0;    ///< rows of a pass with logits
  std::int64_t sequences = 0;  ///< sequences at a time
  std::int64_t positions = 0;  ///< tokens of a sequence
  std::int64_t blocks = 0;     ///< blocks of the cache, page_tokens tokens each

  /// Blocks of a sequence that fills all positions.
  std::int64_t blocks_of_sequence() const { return (positions + page_tokens - 1) / page_tokens; }
};

/// Whether products quantize their inputs, where matrices are e4m3 or e4m3_fnuz and all else is
/// bf16: each token's row becomes codes with a factor, and matrix units multiply codes by codes.
enum class InputCodes {
  never,         ///< inputs stay bf16
  where_faster,  ///< in products of many rows, and of few rows where that is measured to be faster
  always,        ///< of one row, too: for checks
};

/// How matrices of layers and the head are stored, and what products of them read.
struct Quantization {
  std::optional<DataType> codes = {};  ///< e4m3, e4m3_fnuz or i8; empty: as all else
  InputCodes input_codes = InputCodes::never;
};
/// The types of the cache of keys and values that options and cells may name: "auto", as all
/// numbers, and "fp8".
std::vector<std::string> cache_type_names();
/// The codes of the cache of that name, in the device's encoding; empty for "auto".
std::optional<DataType> cache_codes_named(std::string_view name, const DeviceFacts& facts);
/// The names that options and cells have for them: none, fp8, fp8-weights, int8.
std::vector<std::string> quantization_names();
/// The quantization of that name, "none" for any other, with the device's encoding of fp8.
Quantization quantization_named(std::string_view name, const DeviceFacts& facts);

struct DecoderSettings {
  TransformerShape shape;
  DecoderLimits limits;
  DataType precision = DataType::bf16;  ///< f32 or bf16, also that of weights and cache
  std::uint64_t seed = 1;               ///< seed of random weights
  Quantization quantization = {};
  /// The codes that keys and values are rounded to in the cache, each with a factor of its own:
  /// e4m3 or e4m3_fnuz. Empty: the cache holds numbers of `precision`.
  std::optional<DataType> cache_codes = {};
  std::filesystem::path folder = {};     ///< folder with the weights; empty: they are random
  std::filesystem::path adapter = {};    ///< folder of a LoRA adapter of those; empty: none
  TensorParallelShard part = {};         ///< this rank's shard
  ModelRanks ranks = {};                 ///< the ranks that share the model, if there are several
  PromptAttentionSettings prompts = {};  ///< how attention of whole prompts is computed
  /// Whether variants of skinny GEMMs and of attention to the cache are chosen by measuring instead
  /// of taking the defaults. Unset: measured, unless the device is emulated, whose times say
  /// nothing.
  std::optional<bool> measure_variants = {};
  /// The units that compute attention to the cache. Unset: chosen from cache_attention_units().
  std::optional<PagedUnits> cache_attention = {};
  /// If set, it is asked during the choice of variants, which takes seconds. Ranks that share a
  /// model leave it unset: if one ended, the others would wait for it.
  std::function<bool()> stop_requested = {};

  /// Returns whether any input may be quantized.
  bool may_quantize_inputs() const {
    return quantization.input_codes != InputCodes::never && quantization.codes &&
           is_fp8(*quantization.codes) && precision == DataType::bf16;
  }

  DecoderWeightSettings weights() const {
    return {precision, quantization.codes, seed, folder, part, adapter};
  }
  PagedTypes attention_types() const { return {precision, cache_codes}; }
  /// Bytes of this rank's cache for a token: keys and values of all layers, with factors of codes.
  std::uint64_t cache_bytes_of_token() const;
};

/// The tokens of a pass, as the host gives them. The first three have an element per token.
struct DecoderTokens {
  std::vector<std::int32_t> tokens;
  std::vector<std::int32_t> positions;  ///< in its sequence, from 0
  std::vector<std::int32_t> sequences;
  std::vector<std::int32_t> results;  ///< rows whose logits are wanted
};

/// The size of a pass: of tokens set before, or left by advance().
struct DecoderPass {
  std::int64_t tokens = 0, results = 0;
  std::int64_t longest = 0;  ///< no position is larger
  /// Rows whose attention needs no cache: in the order of rows, none twice.
  std::vector<PromptRows> prompts = {};
  /// No token whose result is wanted sees another one of the pass: each is of a sequence of its
  /// own.
  bool apart = false;
};

}  // namespace assay

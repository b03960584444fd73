// A decoder's pass as a case: prefill computes the prompt of every sequence, decode one more token
// of each.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "measure/grid/benchmark.h"
#include "model/decoder/decoder.h"

namespace assay {

enum class DecoderPhase {
  prefill,  ///< whole prompts, up to the first generated token
  decode,   ///< one token of each sequence; the tokens before it are in the cache
};

struct DecoderCell {
  DecoderPhase phase = DecoderPhase::prefill;
  TransformerShape shape;
  DataType precision = DataType::bf16;  ///< type of weights, cache and products
  std::int64_t batch = 0;               ///< sequences
  std::int64_t tokens = 0;  ///< tokens per sequence: the prompt, or the context with the new token
  /// decode: tokens to generate per sequence in a sample, the last with a context of `tokens`.
  std::int64_t generated = 1;
  Quantization quantization = {};
  std::optional<DataType> cache_codes = {};  ///< see DecoderSettings::cache_codes
  std::filesystem::path folder = {};         ///< folder with the weights; empty: random weights
  std::filesystem::path adapter = {};        ///< folder with a LoRA adapter for them; empty: none
  std::vector<std::int32_t> text = {};       ///< the prompt of every sequence; empty: random tokens
  std::filesystem::path logits = {};  ///< prefill: file to write all tokens' logits to; empty: none
  TensorParallelShard part = {};      ///< this rank's shard of the model
  PromptWay attention = PromptWay::own;  ///< implementation of attention over whole prompts
  bool graph = true;                     ///< replay a pass as a graph

  /// The decoder's settings, with limits large enough for measuring and verifying.
  DecoderSettings settings(std::uint64_t seed) const;
  /// The work of one pass, or of `generated` passes. Bytes count the weights and the cache that are
  /// read. Bytes and FLOPs are those of one rank.
  Work work() const;
};

/// Prepares a case on this rank alone. Error: as the device's calls; as Decoder::create() for files
/// of weights; file, if `logits` cannot be written.
Result<std::unique_ptr<Case>> prepare_decoder_case(const DecoderCell& cell, PrepareContext context);
/// Prepares a case on the first `cell.part.ranks` ranks of the team; the whole team calls it
/// together. Error: as prepare_decoder_case() alone, here or on another rank.
Result<std::unique_ptr<Case>> prepare_decoder_case(DecoderCell cell, PrepareContext context,
                                                   ModelRanks ranks);

}  // namespace assay

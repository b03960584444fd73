// A pass of a decoder as a case: a prompt of each sequence, or one more token of each.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "measure/grid/benchmark.h"
#include "model/decoder.h"

namespace assay {

enum class DecoderPhase {
  prefill,  ///< whole prompts, until the first token after them
  decode,   ///< one token of each sequence, with those before it in the cache
};

struct DecoderCell {
  DecoderPhase phase = DecoderPhase::prefill;
  DecoderShape shape;
  DataType precision = DataType::bf16;
  std::int64_t batch = 0;   ///< sequences
  std::int64_t tokens = 0;  ///< of each: its prompt, or its context, the new token included
  std::int64_t generated =
      1;  ///< of decode: tokens of each, one after another, the last at `tokens`
  std::optional<DataType> codes = {};    ///< of quantized matrices; empty: they are not
  std::filesystem::path folder = {};     ///< whose files hold the weights; empty: they are random
  std::vector<std::int32_t> text = {};   ///< the prompt of every sequence; empty: random tokens
  std::filesystem::path logits = {};     ///< of prefill: the file for those of all tokens, or empty
  DecoderPart part = {};                 ///< of several ranks, this one's
  PromptWay attention = PromptWay::own;  ///< of whole prompts
  bool graph = true;                     ///< whether a pass is replayed as one

  /// With the room that measuring and verifying need.
  DecoderSettings settings(std::uint64_t seed) const;
  /// Of a pass, or of as many passes as tokens are generated. Bytes are those of the weights that
  /// are read and of the cache; both they and operations are those of one rank.
  Work work() const;
};

/// What matrices are stored as: "fp8", "int8", or "none", as everything else.
std::optional<DataType> codes_of(std::string_view quantization, const DeviceFacts& facts);

/// On this rank alone. Error: of the device; failed, if a small version of the model differs from
/// the reference.
Result<std::unique_ptr<Case>> prepare_decoder_case(const DecoderCell& cell, PrepareContext context);
/// On the first `cell.part.ranks` of the team, which calls it together. Error: the same, here or on
/// another rank.
Result<std::unique_ptr<Case>> prepare_decoder_case(DecoderCell cell, PrepareContext context,
                                                   ModelRanks ranks);

}  // namespace assay

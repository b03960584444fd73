// Batches of tokens for training: where they come from, and how they lie on the device.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compute/device/device.h"
#include "compute/kernels/step_state.h"
#include "core/result.h"
#include "model/data/packed_rows.h"

namespace assay {

/// A long text as token numbers.
struct TokenStream {
  std::vector<std::int32_t> tokens;
  std::int32_t vocabulary = 0;  ///< every token is below it
  std::string source;           ///< "synthetic", or the file
};

/// Text with something to learn: each token follows its predecessor by a fixed random rule most of
/// the time, and is random otherwise, so that a model that learns the rule reaches a loss well
/// below log(vocabulary).
TokenStream synthetic_tokens(std::int32_t vocabulary, std::size_t count, std::uint64_t seed);

/// The tokens of a file: its bytes, or with `bytes_per_token` 2 or 4 little-endian numbers as
/// nanoGPT and llm.c store them (llm.c's header of 256 words is skipped). Error: as read_operand();
/// usage, naming the file and what is wrong: empty, too short, a number not below `vocabulary`.
Result<TokenStream> read_tokens(const std::string& path, int bytes_per_token,
                                std::int32_t vocabulary);

/// A text's beginning to train on, and its last tenth, on which no step trains.
struct SplitTokens {
  TokenStream training, held_back;
};
/// At least `least` tokens are held back; none if fewer than as many would be left.
SplitTokens hold_back(TokenStream text, std::int64_t least);

/// Batches on the host, one after the other, each of batch x sequence tokens.
struct TokenBatches {
  std::int64_t batches = 0, tokens_per_batch = 0;
  std::vector<std::int32_t> tokens, targets;  ///< target: the token that follows, or ignored_target
  /// Where in its sequence the document of each token begins; empty: sequences are whole documents.
  std::vector<std::int32_t> document_starts;
  /// For each batch, its places sorted by token, and where in that order each distinct token
  /// begins, then tokens_per_batch up to tokens_per_batch + 1 numbers.
  std::vector<std::int32_t> order, starts;
};

/// `batches` batches of `batch` sequences cut from random places of `text`. Error: usage if it is
/// shorter than a sequence and one token.
Result<TokenBatches> cut_batches(const TokenStream& text, std::int64_t batches, std::int64_t batch,
                                 std::int64_t sequence, std::uint64_t seed);

/// Batches of `batch` rows each. Rows without targets that count fill the last one. `documents`:
/// whether attention and positions keep to the documents of a row. Error: usage if there are no
/// rows.
Result<TokenBatches> batches_of_rows(const PackedRows& rows, std::int64_t batch, bool documents);

/// Token batches in device memory.
struct DeviceBatches {
  static Result<DeviceBatches> upload(Device& device, Stream& stream, const TokenBatches& host);

  std::int64_t batches = 0, tokens_per_batch = 0;
  std::int64_t counted = 0;  ///< targets of all batches that count in the loss
  bool has_documents = false;
  Buffer data;

  std::int32_t* tokens() const { return data.as<std::int32_t>(); }
  std::int32_t* targets() const { return tokens() + batches * tokens_per_batch; }
  std::int32_t* order() const { return targets() + batches * tokens_per_batch; }
  std::int32_t* starts() const { return order() + batches * tokens_per_batch; }
  /// Null if sequences are whole documents.
  std::int32_t* document_starts() const {
    return has_documents ? starts() + batches * (tokens_per_batch + 1) : nullptr;
  }
  /// The number of each batch's targets that count; null if all do.
  std::int32_t* targets_of_batches() const {
    if (counted == batches * tokens_per_batch) return nullptr;
    return starts() + batches * (tokens_per_batch + 1) +
           (has_documents ? batches * tokens_per_batch : 0);
  }
};

}  // namespace assay

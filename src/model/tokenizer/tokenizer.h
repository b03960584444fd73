// Text as tokens and back: by a tokenizer.json of Hugging Face's tokenizers package, of byte-level
// byte pair encoding as Llama 3 and Qwen have it, or a token for each byte.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/regex.h"
#include "core/result.h"
#include "model/tokenizer/byte_pairs.h"

namespace assay {

/// May be used by several threads at once.
class Tokenizer {
 public:
  /// Reads a tokenizer.json, or the one in a folder. Nothing in it is trusted. Error: usage, naming
  /// the file and what is wrong with it or not computed here.
  static Result<Tokenizer> load(const std::filesystem::path& path);
  /// Reads the file's text; errors do not name the file.
  static Result<Tokenizer> parse(std::string_view text);
  /// A token for each byte, and no special ones.
  static Tokenizer bytes();

  /// The tokens of a text, without those of begin(). Added tokens such as "<|eot_id|>" are found in
  /// it. Where it is not UTF-8 it counts as U+FFFD, but for bytes().
  std::vector<std::int32_t> encode(std::string_view text) const;
  /// What the file puts before every text: the token that begins it, or nothing.
  const std::vector<std::int32_t>& begin() const { return begin_; }
  /// The text of tokens, valid UTF-8; special ones and those that do not exist have none.
  std::string decode(std::span<const std::int32_t> tokens) const;

  /// One more than the largest token.
  std::int64_t vocabulary() const { return static_cast<std::int64_t>(bytes_of_.size()); }
  /// Returns whether regular expressions, which a file may make slow, cut a text into pieces.
  bool has_patterns() const { return !splits_.empty(); }
  /// The bytes of a token below vocabulary(), which a special one does not add to a text.
  std::string_view written(std::int32_t token) const {
    return bytes_of_[static_cast<std::size_t>(token)];
  }
  /// Returns whether a token stands for no text.
  bool is_special(std::int32_t token) const;
  /// The token that is written so, special ones included; none if there is none.
  std::optional<std::int32_t> find(std::string_view written) const;

 private:
  friend class StreamingDecoder;
  friend class TokenizerReader;

  explicit Tokenizer(BytePairs pairs) : pairs_(std::move(pairs)) {}
  /// Tokens of a text without added ones.
  void encode_plain(std::string_view text, std::vector<std::int32_t>& to) const;
  void encode_piece(std::string_view piece, std::vector<std::int32_t>& to) const;
  /// The bytes that a token adds to a text; none if it is special.
  std::string_view text_bytes(std::int32_t token) const;

  std::vector<std::string> bytes_of_;  // each token's
  std::vector<bool> special_;
  std::unordered_map<std::string, std::int32_t> tokens_of_;  // by their bytes; without added ones
  std::map<std::string, std::int32_t, std::less<>> added_;
  std::vector<Pattern> splits_;  // one after another
  std::optional<Pattern> added_pattern_;
  BytePairs pairs_;
  bool whole_pieces_first_ = false;  // a piece that is a token is not merged
  bool compose_ = false;             // Unicode's normal form C
  bool keep_bytes_ = false;          // also those that are not UTF-8
  std::vector<std::int32_t> begin_;
};

/// The text of tokens that come one by one; what the first bytes of a character say waits for the
/// rest. The texts together are decode() of the tokens together.
class StreamingDecoder {
 public:
  /// `tokenizer` must outlive it.
  explicit StreamingDecoder(const Tokenizer& tokenizer) : tokenizer_(&tokenizer) {}

  /// What `token` completes; may be empty.
  std::string add(std::int32_t token);
  /// What still waits, at the end.
  std::string finish();

 private:
  const Tokenizer* tokenizer_;
  std::string waiting_;
};

}  // namespace assay

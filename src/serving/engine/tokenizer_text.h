// Text as a model's tokenizer has it, and chats as its special tokens frame them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "model/data/chat_template.h"
#include "model/tokenizer/tokenizer.h"
#include "serving/server/text_tokens.h"

namespace assay::engine {

/// Tokens beyond those of the tokenizer, which a model with random weights generates, read
/// "<|id|>".
class TokenizerText : public server::TextTokens {
 public:
  /// `chat_template`: that of the model, if it is known; it may begin chats by itself.
  explicit TokenizerText(Tokenizer tokenizer,
                         std::optional<ChatTemplate> chat_template = std::nullopt);

  bool is_quick() const override { return !tokenizer_.has_patterns(); }
  void append(std::string_view text, std::vector<std::uint32_t>& tokens) const override;
  void append_message(std::string_view role, std::string_view text,
                      std::vector<std::uint32_t>& tokens) const override;
  void end_chat(std::vector<std::uint32_t>& tokens) const override;
  std::string bytes_of(std::uint32_t token) const override;
  std::unique_ptr<server::TextStream> stream() const override;

  /// The special tokens that end a reply, of Llama 3 and of Qwen; none if the tokenizer lacks them.
  std::vector<std::uint32_t> end_tokens() const;

  /// One more than the largest token.
  std::int64_t vocabulary() const { return tokenizer_.vocabulary(); }
  /// Error: usage, if what begins every text or frames every chat has tokens that a model of
  /// `vocabulary` tokens lacks: no text could be answered.
  Status check(std::int64_t vocabulary) const;

 private:
  /// What stands around the parts of a chat: special tokens of Llama 3 or of Qwen, or, if the
  /// tokenizer has neither, "role: text" in a line.
  struct Frame {
    std::string_view before_role, after_role, after_text;
  };
  static Frame frame_of(const Tokenizer& tokenizer);
  void append_framed(std::string_view role, std::string_view text,
                     std::vector<std::uint32_t>& tokens) const;

  Tokenizer tokenizer_;
  Frame frame_;
  std::optional<ChatTemplate> template_;
};

}  // namespace assay::engine

// Text without a vocabulary: each byte is a token.
#pragma once

#include "serving/server/text_tokens.h"

namespace assay::engine {

/// Tokens 0 to 255 are bytes. A model without a tokenizer may know more; those read "<|id|>".
class ByteText final : public server::TextTokens {
 public:
  /// Ids below which a model must know all, to take any text.
  static constexpr std::uint32_t bytes = 256;

  void append(std::string_view text, std::vector<std::uint32_t>& tokens) const override;
  /// "role: text" and the end of the line.
  void append_message(std::string_view role, std::string_view text,
                      std::vector<std::uint32_t>& tokens) const override;
  /// "assistant:"
  void end_chat(std::vector<std::uint32_t>& tokens) const override;
  std::unique_ptr<server::TextStream> stream() const override;
};

}  // namespace assay::engine

// Counts four bytes of text as a token, because the simulator has no tokenizer.
#pragma once

#include "serving/server/text_tokens.h"
#include "serving/simulator/use_server_namespace.h"

namespace assay::simulator {

inline constexpr std::size_t bytes_per_token = 4;

class SimulatedText final : public TextTokens {
 public:
  /// Makes a token of each four bytes, the last one filled with zeros; its id is below 32,000.
  void append(std::string_view text, std::vector<std::uint32_t>& tokens) const override;
  /// A message costs a few tokens of the chat template.
  void append_message(std::string_view role, std::string_view text,
                      std::vector<std::uint32_t>& tokens) const override;
  void end_chat(std::vector<std::uint32_t>&) const override {}
};

/// The text of token `number` (from 1) of request `request`: four bytes, so that /tokenize counts
/// it as one token, without characters that JSON would escape.
std::string_view token_text(std::uint64_t request, std::uint64_t number);

}  // namespace assay::simulator

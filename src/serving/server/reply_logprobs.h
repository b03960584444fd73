// Log probabilities of a reply's tokens, in the two formats of OpenAI's interface.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace assay::server {

struct TokenLogprob {
  std::string bytes;  ///< that it adds to the text, or how a special token is written
  double logprob = 0;
};

/// The log probabilities of one place in a reply.
struct ChosenLogprobs {
  TokenLogprob chosen;
  std::vector<TokenLogprob> likeliest;  ///< in falling order
};

/// Returns how many characters begin in the bytes of a token.
std::uint64_t characters_of(const TokenLogprob& token);

/// Appends the value of a completion's "logprobs" for consecutive tokens, the first of which has
/// `offset` characters of the reply before it. "top_logprobs" begin with the chosen token, and
/// tokens that are no UTF-8 read "bytes:\x..", as in vLLM.
void append_completion_logprobs(std::span<const ChosenLogprobs> tokens, std::uint64_t offset,
                                std::string& out);

/// Appends the value of a chat's "logprobs". Tokens that are no UTF-8 read "\x..".
void append_chat_logprobs(std::span<const ChosenLogprobs> tokens, std::string& out);

}  // namespace assay::server

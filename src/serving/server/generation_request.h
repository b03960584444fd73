// A client's request to any of the generation endpoints, parsed from untrusted JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "serving/server/text_tokens.h"

namespace assay::server {

/// The servers whose request and reply formats are supported.
enum class Dialect { completions, chat, llama_cpp, tgi };

/// How the next token is drawn. Temperature 0: it is the most likely one.
struct Sampling {
  double temperature = 0;
  double top_p = 1;  ///< only the likeliest tokens that together have this probability are drawn
  double min_p = 0;  ///< only tokens with at least this share of the likeliest one's probability
  std::uint64_t top_k = 0;  ///< only this number of the likeliest tokens are drawn; 0: all
  /// Seed of the random numbers; empty: another for each request.
  std::optional<std::uint64_t> seed = {};
  /// OpenAI's presence penalty is subtracted from the logits of tokens that the reply has, the
  /// frequency penalty once for each time. vLLM's repetition penalty divides the positive logits,
  /// and multiplies the negative ones, of tokens that the reply or the prompt has.
  double presence_penalty = 0, frequency_penalty = 0, repetition_penalty = 1;

  /// Temperatures below 1e-5 count as 0, as in vLLM: logits divided by them could overflow.
  bool is_greedy() const { return temperature < 1e-5; }
  bool penalizes() const {
    return presence_penalty != 0 || frequency_penalty != 0 || repetition_penalty != 1;
  }
};

struct GenerationRequest {
  /// Token ids of each prompt.
  std::vector<std::vector<std::uint32_t>> prompts;
  bool ids = false;  ///< the prompts came as token ids
  std::string model;
  bool stream = false;
  bool include_usage = false;               ///< the stream ends with the numbers of tokens
  bool continuous_usage = false;            ///< each event has them
  std::optional<std::uint64_t> max_tokens;  ///< most tokens of the reply; empty: not stated
  std::uint64_t min_tokens = 0;
  bool ignore_eos = false;
  bool stamps = false;      ///< events must carry their send time
  bool return_ids = false;  ///< the reply has token ids beside the text
  Sampling sampling;
  /// Log probabilities of the reply's tokens and of this number of the likeliest ones in each
  /// place; empty: none.
  std::optional<std::uint32_t> logprobs;
  std::vector<std::string> stops;  ///< texts before which the reply ends
  /// The first field that asks for something that assay's own server does not support, such as
  /// "echo"; empty: there is none. The simulated server answers all the same.
  std::string unsupported;
};

/// `text` makes tokens of texts. Error: usage, one line for the client: not JSON, a field of a
/// wrong type or value, no prompt or an empty one.
Result<GenerationRequest> parse_generation(std::string_view body, Dialect dialect,
                                           const TextTokens& text);

/// The tokens of the field `prompt`, of several prompts those of the first. Error: as
/// parse_generation().
Result<std::vector<std::uint32_t>> tokens_of_prompt(std::string_view body, const TextTokens& text);

}  // namespace assay::server

// How long text is in a server's tokens, where it takes no token ids and nobody else has its
// tokenizer.
#pragma once

#include "core/result.h"
#include "serving/client/api.h"
#include "serving/client/endpoint.h"

namespace assay {

struct TextLength {
  double words_per_token = 1;
  double template_tokens = 0;  ///< that the server adds to every prompt
};

/// Asks for one token after two prompts of known numbers of words, and takes the line through what
/// the server counts. Error: unavailable, if it does not answer or does not count.
Result<TextLength> measure_text(const Endpoint& endpoint, RequestOptions options,
                                std::string_view fields, std::uint64_t seed);

}  // namespace assay

// Says how many tokens a text has for a server that takes no token ids, without its tokenizer.
#pragma once

#include "core/result.h"
#include "serving/client/api.h"
#include "serving/client/endpoint.h"

namespace assay {

struct TextLength {
  double words_per_token = 1;
  double template_tokens =
      0;  ///< tokens that the server adds to every prompt, by a chat's template
};

/// Requests one token for each of two prompts with known numbers of words, and fits a line through
/// the server's token counts. `fields`: extra HTTP header lines, "Name: value\r\n". Error:
/// unavailable, if it does not answer, does not count, or counts too few for any line.
Result<TextLength> measure_text(const Endpoint& endpoint, RequestOptions options,
                                std::string_view fields, std::uint64_t seed);

}  // namespace assay

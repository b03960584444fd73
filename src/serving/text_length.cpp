#include "serving/text_length.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/secrets.h"
#include "core/shown_text.h"
#include "serving/client/http_call.h"
#include "serving/client/reply_event.h"
#include "serving/workload/token_stream.h"

namespace assay {
namespace {

constexpr std::uint64_t few_words = 50, many_words = 250;
constexpr double text_patience_seconds = 120;

Result<double> tokens_of(const Endpoint& endpoint, const RequestOptions& options,
                         std::string_view fields, std::uint64_t words, Random& random) {
  Prompt prompt;
  prompt.text = random_words(words, random);
  prompt.output_tokens = 1;
  const HttpReply reply = TRY(http_call(endpoint, "POST", path_of(options), fields,
                                        body_of(options, prompt, {}), text_patience_seconds));
  ReplyEvent event;
  // A refusal says why in the same form.
  const bool is_read = read_reply_event(options.api, reply.body, event);
  if (reply.status != 200 || !is_read || !event.prompt_tokens) {
    return Error{ErrorKind::unavailable,
                 fmt::format("{}{} does not say how many tokens a prompt has (HTTP {}{}{})",
                             text_of(endpoint.url), path_of(options), reply.status,
                             event.error.empty() ? "" : ": ",
                             shown_line(hide_secrets_in(event.error), 500))};
  }
  return static_cast<double>(*event.prompt_tokens);
}

}  // namespace

Result<TextLength> measure_text(const Endpoint& endpoint, RequestOptions options,
                                std::string_view fields, std::uint64_t seed) {
  options.stream = false;
  Random random(seed);
  const double few = TRY(tokens_of(endpoint, options, fields, few_words, random));
  const double many = TRY(tokens_of(endpoint, options, fields, many_words, random));
  const double per_word = (many - few) / static_cast<double>(many_words - few_words);
  if (!(per_word > 0.1)) {
    return Error{ErrorKind::unavailable,
                 fmt::format("{} counts {} tokens in {} words and {} in {}: assay cannot make "
                             "prompts of a given length",
                             text_of(endpoint.url), few, few_words, many, many_words)};
  }
  TextLength length;
  length.words_per_token = 1 / per_word;
  length.template_tokens = std::max(0.0, few - per_word * static_cast<double>(few_words));
  return length;
}

}  // namespace assay

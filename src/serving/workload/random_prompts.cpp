// Prompts of random tokens, with exact lengths, which no cache holds.
#include <cmath>

#include "serving/workload/datasets.h"
#include "serving/workload/token_stream.h"

namespace assay {
namespace {

class RandomPrompts final : public Prompts {
 public:
  explicit RandomPrompts(const PromptSettings& settings)
      : settings_(settings), range_(token_range(settings.vocabulary)) {}

  std::size_t size() const override { return settings_.count; }

  Prompt at(std::size_t index) const override {
    Random lengths = stream_of(settings_.seed, RandomStream::lengths, index);
    Prompt prompt;
    prompt.conversation = index;
    const std::uint64_t input =
        random_length(settings_.input_tokens, settings_.input_spread, lengths);
    prompt.output_tokens = random_length(settings_.output_tokens.value_or(default_output_tokens),
                                         settings_.output_spread, lengths);
    prompt.tokens = settings_.prefix_tokens + input;
    Random prefix = stream_of(settings_.seed, RandomStream::prefix, 0);
    Random body = stream_of(settings_.seed, RandomStream::body, index);
    if (settings_.words_per_token > 0) {
      prompt.text = text_of(settings_.prefix_tokens, prefix);
      if (!prompt.text.empty()) prompt.text += ' ';
      prompt.text += text_of(input, body);
    } else {
      prompt.ids.reserve(prompt.tokens);
      append_ids(prompt.ids, settings_.prefix_tokens, range_, prefix);
      append_ids(prompt.ids, input, range_, body);
    }
    return prompt;
  }

 private:
  std::string text_of(std::uint64_t tokens, Random& random) const {
    const double words = static_cast<double>(tokens) * settings_.words_per_token;
    return random_words(static_cast<std::uint64_t>(std::ceil(words)), random);
  }

  PromptSettings settings_;
  TokenRange range_;
};

}  // namespace

std::unique_ptr<Prompts> random_prompts(const PromptSettings& settings) {
  return std::make_unique<RandomPrompts>(settings);
}

}  // namespace assay

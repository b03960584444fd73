// Conversations of several turns with think time between them. They are text, because only the chat
// API carries earlier turns, and it takes no token ids.
#include <algorithm>

#include "serving/workload/datasets.h"
#include "serving/workload/token_stream.h"

namespace assay {
namespace {

class ConversationPrompts final : public Prompts {
 public:
  explicit ConversationPrompts(const PromptSettings& settings) : settings_(settings) {}

  /// Whole conversations only, at least one.
  std::size_t size() const override {
    return std::max<std::size_t>(1, settings_.count / settings_.turns) * settings_.turns;
  }

  bool follows(std::size_t index) const override { return index % settings_.turns > 0; }

  Prompt at(std::size_t index) const override {
    Random body = stream_of(settings_.seed, RandomStream::body, index);
    Prompt prompt;
    prompt.conversation = index / settings_.turns;
    prompt.turn = index % settings_.turns;
    if (prompt.turn > 0) prompt.think_seconds = settings_.think_seconds;
    prompt.text = random_words(settings_.input_tokens, body);
    prompt.output_tokens = settings_.output_tokens.value_or(default_output_tokens);
    return prompt;
  }

 private:
  PromptSettings settings_;
};

}  // namespace

std::unique_ptr<Prompts> conversation_prompts(const PromptSettings& settings) {
  return std::make_unique<ConversationPrompts>(settings);
}

}  // namespace assay

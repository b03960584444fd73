#include "serving/workload/datasets.h"
#include "serving/workload/prompt_sample.h"

namespace assay {
namespace {

constexpr std::uint64_t bytes_per_token = 4;  // for English in common vocabularies
constexpr std::uint64_t fewest = 4, longest_prompt = 1024, longest_both = 2048;

std::uint64_t estimated_tokens(const std::string& text) {
  return (text.size() + bytes_per_token - 1) / bytes_per_token;
}

Result<std::optional<Prompt>> read_conversation(const JsonNode& object,
                                                std::optional<std::uint64_t> fixed_output) {
  const JsonNode* turns = object.find("conversations");
  if (turns == nullptr || !turns->is_array()) {
    return Error{ErrorKind::usage, "conversations is not an array"};
  }
  if (turns->items.size() < 2) return std::optional<Prompt>();
  Prompt prompt;
  prompt.text = TRY(text_at(turns->items[0], "value"));
  const std::uint64_t recorded = estimated_tokens(TRY(text_at(turns->items[1], "value")));
  const std::uint64_t asked = estimated_tokens(prompt.text);
  prompt.output_tokens = fixed_output.value_or(recorded);
  const bool fits = asked >= fewest && (fixed_output || recorded >= fewest) &&
                    asked <= longest_prompt && asked + prompt.output_tokens <= longest_both;
  return fits ? std::optional(std::move(prompt)) : std::nullopt;
}

}  // namespace

Result<std::unique_ptr<Prompts>> sharegpt_prompts(const PromptSettings& settings) {
  return sample_prompts(settings, [&](const JsonNode& object) {
    return read_conversation(object, settings.output_tokens);
  });
}

}  // namespace assay

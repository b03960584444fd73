#include "serving/workload/datasets.h"
#include "serving/workload/prompt_sample.h"

namespace assay {
namespace {

Result<std::optional<Prompt>> read(const JsonNode& object,
                                   std::optional<std::uint64_t> fixed_output) {
  Prompt prompt;
  prompt.text = TRY(text_at(object, "prompt"));
  if (prompt.text.empty()) return Error{ErrorKind::usage, "prompt is empty"};
  if (fixed_output) {
    prompt.output_tokens = *fixed_output;
  } else if (object.find("output_tokens") != nullptr) {
    // A server takes 0 for "no limit".
    prompt.output_tokens =
        std::max<std::uint64_t>(1, TRY(count_at(object, "output_tokens", most_tokens)));
  }
  return std::optional(std::move(prompt));
}

}  // namespace

Result<std::unique_ptr<Prompts>> jsonl_prompts(const PromptSettings& settings) {
  return sample_prompts(
      settings, [&](const JsonNode& object) { return read(object, settings.output_tokens); });
}

}  // namespace assay

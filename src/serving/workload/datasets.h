// The kinds of prompts, one file each; make_prompts() checks the settings and chooses among them.
#pragma once

#include <memory>

#include "core/result.h"
#include "serving/workload/prompt_settings.h"

namespace assay {

constexpr std::uint64_t default_output_tokens = 128;  ///< where PromptSettings sets no length
constexpr std::uint64_t most_tokens = 10'000'000;     ///< upper limit for a prompt or a reply

std::unique_ptr<Prompts> random_prompts(const PromptSettings& settings);
std::unique_ptr<Prompts> prefix_prompts(const PromptSettings& settings);
std::unique_ptr<Prompts> conversation_prompts(const PromptSettings& settings);

/// vLLM's filter: the first two turns of every conversation; prompt and reply of at least 4 tokens
/// (the reply only if its length is not set), the prompt of at most 1024, both together of at most
/// 2048. Without a tokenizer a token is assumed to be 4 bytes, so lengths are estimates: the
/// requested reply length is the estimate for the recorded reply, and the prompt's length is
/// unknown.
Result<std::unique_ptr<Prompts>> sharegpt_prompts(const PromptSettings& settings);

/// Objects with "prompt", which is not empty, and optionally "output_tokens". These functions
/// return errors as make_prompts() does.
Result<std::unique_ptr<Prompts>> jsonl_prompts(const PromptSettings& settings);

/// The first `count` objects of a Mooncake trace: timestamp, input_length, output_length, hash_ids.
/// Equal hash ids become equal blocks of token ids, so that a prefix cache has the same hits as
/// when the trace was recorded.
Result<std::unique_ptr<Prompts>> trace_prompts(const PromptSettings& settings);

}  // namespace assay

// The kinds of prompts, one file each; make_prompts() chooses among them and has checked the
// settings.
#pragma once

#include <memory>

#include "core/result.h"
#include "serving/workload/prompt_settings.h"

namespace assay {

constexpr std::uint64_t default_output_tokens = 128;
constexpr std::uint64_t most_tokens = 10'000'000;  ///< of a prompt or a reply

std::unique_ptr<Prompts> random_prompts(const PromptSettings& settings);
std::unique_ptr<Prompts> prefix_prompts(const PromptSettings& settings);
std::unique_ptr<Prompts> conversation_prompts(const PromptSettings& settings);

/// vLLM's filter: the first two turns of every conversation; prompt and reply of at least 4 tokens
/// (the reply only if its length is not set), the prompt of at most 1024, both together of at most
/// 2048. Without a tokenizer a token is taken to be 4 bytes, so lengths are estimates: the reply
/// asked for is as long as the estimate of the recorded one, and the prompt's length is not known.
Result<std::unique_ptr<Prompts>> sharegpt_prompts(const PromptSettings& settings);

/// Objects with "prompt" and, if they say so, "output_tokens".
Result<std::unique_ptr<Prompts>> jsonl_prompts(const PromptSettings& settings);

/// The first `count` objects of a Mooncake trace: timestamp, input_length, output_length, hash_ids.
/// Equal hash ids become equal blocks of token ids, so that a prefix cache finds what it found when
/// the trace was recorded.
Result<std::unique_ptr<Prompts>> trace_prompts(const PromptSettings& settings);

}  // namespace assay

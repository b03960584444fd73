// Prompts drawn from a file in one pass, keeping only those drawn.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "core/result.h"
#include "serving/workload/json_objects.h"
#include "serving/workload/prompt_settings.h"

namespace assay {

/// The prompt of an object; empty if it must not be drawn. Error: the message alone.
using ReadPrompt = std::function<Result<std::optional<Prompt>>(const JsonNode&)>;

/// `settings.count` of the file's prompts, each equally likely, in random order (a reservoir:
/// Vitter 1985, algorithm R); if it holds fewer, some are repeated, as in vLLM. Error: as
/// JsonObjects::open() and next(); usage, if `read` fails, if no prompt may be drawn, or those
/// drawn have more than 1 GiB.
Result<std::unique_ptr<Prompts>> sample_prompts(const PromptSettings& settings,
                                                const ReadPrompt& read);

}  // namespace assay

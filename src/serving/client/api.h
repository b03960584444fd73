// Knows the paths and bodies of requests in the formats of several servers.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "core/result.h"
#include "serving/workload/prompt.h"

namespace assay {

enum class Api {
  completions,  ///< OpenAI's /v1/completions: vLLM, SGLang, llama.cpp and others
  chat,         ///< OpenAI's /v1/chat/completions
  llamacpp,     ///< llama.cpp's own /completion
  tgi,          ///< Text Generation Inference's own /generate_stream and /generate
};

/// Returns the value of --api: "completions", "chat", "llamacpp" or "tgi".
std::string_view name_of(Api api);
/// Error: usage, with the known names.
Result<Api> parse_api(std::string_view name);

struct RequestOptions {
  Api api = Api::completions;
  std::string model;  ///< empty: the request names none
  bool stream = true;
  bool ignore_eos = false;  ///< generate the full length asked for, where the server supports it
  Json extra = Json::object();  ///< members that are added to the body, or replace its own
};

/// What was said before this turn of a conversation.
struct Exchange {
  std::string asked, answered;
};

/// Returns the path of the endpoint, below Url::path (url.h).
std::string_view path_of(const RequestOptions& options);

/// Returns the most tokens that a server may generate for this request, over all its choices; 0: it
/// decides.
std::uint64_t output_asked(const RequestOptions& options, const Prompt& prompt);

/// The JSON body. Token ids are sent only to servers that take them: Api::completions and
/// Api::llamacpp. Invalid UTF-8 is replaced.
std::string body_of(const RequestOptions& options, const Prompt& prompt,
                    const std::vector<Exchange>& before);

/// Returns whether the server takes token ids for a prompt.
bool takes_ids(Api api);

}  // namespace assay

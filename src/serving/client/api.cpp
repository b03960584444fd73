#include "serving/client/api.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/json.h"

namespace assay {
namespace {

constexpr std::array<std::string_view, 4> api_names = {"completions", "chat", "llamacpp", "tgi"};

/// A conversation as one text, for servers that have no roles.
std::string whole_text(const Prompt& prompt, const std::vector<Exchange>& before) {
  std::string text;
  for (const Exchange& exchange : before) text += exchange.asked + exchange.answered;
  return text + prompt.text;
}

Json prompt_json(const Prompt& prompt, const std::vector<Exchange>& before) {
  if (!prompt.ids.empty()) return prompt.ids;
  return whole_text(prompt, before);
}

Json messages_json(const Prompt& prompt, const std::vector<Exchange>& before) {
  Json messages = Json::array();
  for (const Exchange& exchange : before) {
    messages.push_back({{"role", "user"}, {"content", exchange.asked}});
    messages.push_back({{"role", "assistant"}, {"content", exchange.answered}});
  }
  messages.push_back({{"role", "user"}, {"content", prompt.text}});
  return messages;
}

Json openai(const RequestOptions& options, const Prompt& prompt,
            const std::vector<Exchange>& before) {
  Json json = Json::object();
  if (!options.model.empty()) json["model"] = options.model;
  const bool chat = options.api == Api::chat;
  if (chat) {
    json["messages"] = messages_json(prompt, before);
  } else {
    json["prompt"] = prompt_json(prompt, before);
  }
  if (prompt.output_tokens > 0) {
    json[chat ? "max_completion_tokens" : "max_tokens"] = prompt.output_tokens;
  }
  json["stream"] = options.stream;
  if (options.stream) json["stream_options"] = {{"include_usage", true}};
  if (options.ignore_eos) {
    json["ignore_eos"] = true;
    if (prompt.output_tokens > 0) json["min_tokens"] = prompt.output_tokens;
  }
  return json;
}

Json llamacpp(const RequestOptions& options, const Prompt& prompt,
              const std::vector<Exchange>& before) {
  // Its prompt cache is on by default, and repeated runs would measure the cache instead.
  Json json = {
      {"prompt", prompt_json(prompt, before)}, {"stream", options.stream}, {"cache_prompt", false}};
  if (prompt.output_tokens > 0) json["n_predict"] = prompt.output_tokens;
  if (options.ignore_eos) json["ignore_eos"] = true;
  return json;
}

Json tgi(const Prompt& prompt, const std::vector<Exchange>& before) {
  Json parameters = {{"details", true}, {"decoder_input_details", false}};
  if (prompt.output_tokens > 0) parameters["max_new_tokens"] = prompt.output_tokens;
  return {{"inputs", whole_text(prompt, before)}, {"parameters", std::move(parameters)}};
}

/// `json[key]`, or `otherwise` if that is no whole number from 0.
std::uint64_t count_or(const Json& json, const char* key, std::uint64_t otherwise) {
  const auto at = json.is_object() ? json.find(key) : json.end();
  const bool counts = at != json.end() && at->is_number_integer() && at->get<std::int64_t>() >= 0;
  return counts ? at->get<std::uint64_t>() : otherwise;
}

}  // namespace

std::string_view name_of(Api api) {
  return api_names[static_cast<std::size_t>(api)];
}

Result<Api> parse_api(std::string_view name) {
  for (std::size_t i = 0; i < api_names.size(); ++i) {
    if (api_names[i] == name) return static_cast<Api>(i);
  }
  return Error{ErrorKind::usage,
               fmt::format("unknown API \"{}\"; allowed: {}", name, fmt::join(api_names, ", "))};
}

bool takes_ids(Api api) {
  return api == Api::completions || api == Api::llamacpp;
}

std::string_view path_of(const RequestOptions& options) {
  switch (options.api) {
    case Api::completions:
      return "/v1/completions";
    case Api::chat:
      return "/v1/chat/completions";
    case Api::llamacpp:
      return "/completion";
    case Api::tgi:
      break;
  }
  return options.stream ? "/generate_stream" : "/generate";
}

std::uint64_t output_asked(const RequestOptions& options, const Prompt& prompt) {
  std::uint64_t tokens = prompt.output_tokens;
  for (const char* key : {"max_tokens", "max_completion_tokens", "n_predict"}) {
    tokens = count_or(options.extra, key, tokens);
  }
  if (const auto tgi = options.extra.find("parameters"); tgi != options.extra.end()) {
    tokens = count_or(*tgi, "max_new_tokens", 0);  // replaces all of ours
  }
  return tokens * std::max<std::uint64_t>(count_or(options.extra, "n", 1), 1);
}

std::string body_of(const RequestOptions& options, const Prompt& prompt,
                    const std::vector<Exchange>& before) {
  Json json;
  if (options.api == Api::tgi) {
    json = tgi(prompt, before);
  } else if (options.api == Api::llamacpp) {
    json = llamacpp(options, prompt, before);
  } else {
    json = openai(options, prompt, before);
  }
  for (const auto& [key, value] : options.extra.items()) json[key] = value;
  return json_line(json);
}

}  // namespace assay

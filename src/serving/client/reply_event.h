// Parses one JSON object of a reply, which is an event of a stream or a reply in one piece.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "serving/client/api.h"

namespace assay {

/// The contents of the object, read in one pass without building a tree: at 100,000 events per
/// second most of the client's time is spent here. An optional is empty if the object lacks it.
struct ReplyEvent {
  /// The event stands for output, by vLLM's rule: its `choices` are not empty. Two kinds do not
  /// count: an event that only opens a chat reply (`role`), which would time the HTTP server's
  /// answer, and one that only closes a reply, without text or with the usage (llama.cpp).
  bool token = false;
  std::string text;           ///< of the reply, without reasoning
  std::string finish_reason;  ///< as the server names it; empty: not in this object
  std::string error;          ///< the server's message; empty: none
  std::optional<std::uint64_t> prompt_tokens, output_tokens;  ///< as the server counts them
  /// How many of output_tokens are reasoning.
  std::optional<std::uint64_t> reasoning_tokens;
  /// Bytes of all output: the text, reasoning and tool calls.
  std::uint64_t output_bytes = 0;
  bool has_reasoning = false;  ///< a part of output_bytes is reasoning
  /// Sent by the simulated server on request: nanoseconds of this machine's monotonic clock.
  std::optional<std::uint64_t> sent_ns;
};

/// Replaces the contents of `event`, whose strings keep their memory. Returns false if `json` is
/// not JSON or has no object.
bool read_reply_event(Api api, std::string_view json, ReplyEvent& event);

}  // namespace assay

// One JSON object of a reply: an event of a stream, or a reply in one piece.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "serving/client/api.h"

namespace assay {

/// What the object says, read in one pass without building it: at a hundred thousand events a
/// second that is what the client's time goes into.
struct ReplyEvent {
  /// It stands for output, as vLLM counts: its `choices` are not empty. But neither does an event
  /// that only opens a chat reply (`role`), which would show the time to an answer of the HTTP
  /// server, nor one that only closes a reply, without text of its own or with the usage
  /// (llama.cpp).
  bool token = false;
  std::string text;
  std::string finish_reason;
  std::string error;
  std::optional<std::uint64_t> prompt_tokens, output_tokens;
  /// Of the simulated server, when asked: nanoseconds of this machine's monotonic clock.
  std::optional<std::uint64_t> sent_ns;
};

/// Fills `event`, whose strings keep their memory. False: `json` is no object.
bool read_reply_event(Api api, std::string_view json, ReplyEvent& event);

}  // namespace assay

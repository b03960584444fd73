// What happened to one request. All times are seconds after the beginning of the run, by a clock
// that never jumps; negative: it never happened.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

/// How a request ended.
enum class ReplyEnd {
  complete,     ///< the reply ended as its protocol says
  unfinished,   ///< the stream ended cleanly but without its end marker, it took longer than
                ///< LoadPlan::request_seconds, or the run was stopped
  refused,      ///< the server answered with a status other than 200, or with an error in its reply
  unconnected,  ///< no connection could be made
  broken,       ///< the connection was closed or reset during the reply
  silent,       ///< the server stayed silent for longer than allowed
  malformed,    ///< the reply is invalid: not HTTP, not JSON, too large, or with impossible counts
};

/// One request, from its place in the plan to the end of its reply.
struct RequestLog {
  std::size_t index = 0;  ///< place of its prompt in the list of prompts, from 0
  int target = 0;         ///< which server, from 0
  /// Time in the arrival plan; for a later turn of a conversation, the end of the reply before it
  /// and the pause; for all others in a closed loop, `due`.
  double scheduled = 0;
  double due = 0;     ///< when it could be sent: `scheduled`, or later under a cap on concurrency
  double sent = -1;   ///< when it was handed to its connection, before a new one was opened
  double first = -1;  ///< its first token event
  double last = -1;   ///< its last token event
  double end = -1;    ///< the reply was whole, or the error was known
  /// Seconds between token events. An event may hold several tokens.
  std::vector<float> gaps;
  /// For every token event, seconds since the send time that the server reported; only the
  /// simulated server does, on request.
  std::vector<float> delays;
  std::uint64_t prompt_asked = 0, output_asked = 0;  ///< tokens; 0: not known
  /// If `counted`, these are the numbers in the server's `usage`. Otherwise output_tokens is the
  /// number of token events, also of a reply that broke off or was given up, and prompt_tokens is
  /// prompt_asked unless the server said it.
  std::uint64_t prompt_tokens = 0, output_tokens = 0;
  /// How many of output_tokens are reasoning that the server counts but does not send.
  std::uint64_t hidden_tokens = 0;
  /// Bytes of the text, reasoning and tool calls that arrived; empty: not known.
  std::optional<std::uint64_t> output_bytes;
  bool streamed = true;  ///< it asked for a stream of events, not for the whole reply at once
  bool resent = false;   ///< its kept-alive connection was closed before a reply came, so it
                         ///< was sent again on a new one; `sent` is the first time
  bool counted = false;  ///< the server's `usage` gave the numbers of tokens
  int status = 0;        ///< HTTP status; 0: none received
  ReplyEnd reply_end = ReplyEnd::unfinished;
  std::string error;          ///< one line, empty: none
  std::string finish_reason;  ///< "length", "stop"

  /// The reply is complete and has at least one token event.
  bool succeeded() const { return reply_end == ReplyEnd::complete && first >= 0; }
  /// The reply is complete but has no token.
  bool empty() const { return reply_end == ReplyEnd::complete && first < 0; }
};

/// Returns the name: "complete", "unfinished", ...
std::string_view name_of(ReplyEnd end);

}  // namespace assay

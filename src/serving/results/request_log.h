// What happened to one request. All times are seconds after the beginning of the run, by a clock
// that never jumps; negative: it never came to that.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

/// How a request ended.
enum class ReplyEnd {
  complete,     ///< the reply ended as its protocol says
  unfinished,   ///< the stream ended in order but without its end mark, or the run was over
  refused,      ///< the server answered with another status than 200
  unconnected,  ///< no connection could be made
  broken,       ///< the connection closed or was reset within the reply
  silent,       ///< nothing came for as long as was allowed
  malformed,    ///< what came is no reply: no HTTP, no JSON, larger than allowed
};

struct RequestLog {
  std::size_t index = 0;  ///< of the prompt
  int target = 0;         ///< which server, from 0
  double scheduled = 0;   ///< when the arrival plan has it; in a closed loop, `due`
  double due = 0;     ///< when it could be sent: `scheduled`, or later under a cap on concurrency
  double sent = -1;   ///< when its connection got it, and opened first if it was new
  double first = -1;  ///< its first token event
  double last = -1;   ///< its last token event
  double end = -1;    ///< the reply was whole, or the error was known
  /// Seconds between token events. An event may hold several tokens.
  std::vector<float> gaps;
  /// Of every token event, seconds from when the server said it sent it: the simulated one, asked.
  std::vector<float> delays;
  std::uint64_t prompt_asked = 0, output_asked = 0;  ///< tokens; 0: not known
  std::uint64_t prompt_tokens = 0, output_tokens = 0;
  bool resent = false;   ///< its connection, kept from an earlier reply, was closed before this one
  bool counted = false;  ///< the tokens are the server's `usage`; else events stand for tokens
  int status = 0;        ///< of HTTP; 0: none came
  ReplyEnd reply_end = ReplyEnd::unfinished;
  std::string error;          ///< one line, empty: none
  std::string finish_reason;  ///< "length", "stop"

  /// The reply is complete and has at least one token event.
  bool succeeded() const { return reply_end == ReplyEnd::complete && first >= 0; }
  /// Complete and without any token.
  bool empty() const { return reply_end == ReplyEnd::complete && first < 0; }
};

/// "complete", "unfinished", ...
std::string_view name_of(ReplyEnd end);

}  // namespace assay

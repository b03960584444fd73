// Takes the tokens of a reply from whatever generates them.
#pragma once

#include <cstdint>
#include <string_view>

#include "serving/server/reply_logprobs.h"

namespace assay::server {

/// Why a choice has no more tokens.
enum class Finish { length, end_token, stop_text };

/// A token as it is generated.
struct SourceToken {
  std::size_t choice = 0;
  std::uint64_t number = 0;                  ///< from 1
  bool last = false;                         ///< the last token of its choice
  double due = 0;                            ///< when it should be written, by the loop's clock
  std::uint32_t id = 0;                      ///< of the token; the simulator has none
  std::string_view text = {};                ///< as between the quotes in JSON; may be empty
  Finish finish = Finish::length;            ///< how the choice ends, if this is its last token
  const ChosenLogprobs* logprobs = nullptr;  ///< null: not wanted
};

/// Receives the tokens of one request, on the loop's thread.
class TokenSink {
 public:
  virtual ~TokenSink() = default;
  /// Called when a choice has left the queue, at `when` on the loop's clock.
  virtual void on_started(double when) = 0;
  /// Returns false to stop the tokens.
  virtual bool on_token(const SourceToken& token) = 0;
  /// No more tokens will come: the reply ends with this HTTP status, or as an event of a stream.
  virtual void on_failure(int status, std::string_view message) = 0;
};

/// Generates the tokens. It is called on the loop's thread.
class TokenSource {
 public:
  virtual ~TokenSource() = default;
  /// The tokens of request `id` are no longer wanted; nothing happens if there is none.
  virtual void cancel(std::uint64_t id) = 0;
};

}  // namespace assay::server

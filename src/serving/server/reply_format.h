// The reply formats of the servers. The constant parts of a reply's events are made once, so that
// an event costs only a few copies: one core must handle 100,000 events per second.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "serving/server/generation_request.h"
#include "serving/server/token_sink.h"

namespace assay::server {

/// What the events of a reply say besides its tokens.
struct ReplyFacts {
  std::uint64_t request = 0;  ///< its number
  std::string model;
  std::int64_t created = 0;  ///< Unix seconds
  std::uint64_t prompt_tokens = 0;
  bool usage = false;             ///< the reply has its numbers of tokens
  bool continuous_usage = false;  ///< with `usage`: each event of OpenAI's has them
  bool stamps = false;            ///< OpenAI's events carry their send time
  bool return_ids = false;        ///< OpenAI's choices carry their token ids, as vLLM's do
};

/// All that came of one choice.
struct ChoiceText {
  std::string text;                ///< as between the quotes in JSON
  std::uint64_t tokens = 0;        ///< how many the text has
  std::vector<std::uint32_t> ids;  ///< of these tokens; empty in a stream
  Finish finish = Finish::length;
  std::vector<ChosenLogprobs> logprobs = {};  ///< of each token, if they are wanted
};

/// A token to write.
struct TokenEvent {
  std::size_t choice = 0;
  std::uint64_t number = 0;  ///< from 1
  std::string_view text;     ///< as between the quotes in JSON
  bool last = false;         ///< the last token of its choice
  std::uint32_t id = 0;
  Finish finish = Finish::length;     ///< how the choice ends, if `last`
  const ChoiceText* whole = nullptr;  ///< the text of the choice, if `last` and needs_whole()
  const ChosenLogprobs* logprobs = nullptr;  ///< null: not wanted
  std::uint64_t offset = 0;  ///< characters of the choice before it, where these are wanted
};

/// Writes one reply in the format of one API. A derived class implements the pure functions, and
/// the others where its format has more than tokens and an end.
class ReplyFormat {
 public:
  virtual ~ReplyFormat() = default;
  /// Returns whether a choice's first token has an event of its own before it.
  virtual bool has_opening() const { return false; }
  /// Appends that event. All of these functions append to `out`.
  virtual void opening(std::size_t /*choice*/, std::string& /*out*/) const {}
  /// Returns whether the last token's event repeats the text of the choice.
  virtual bool needs_whole() const { return false; }
  /// Appends the event of a token, with the empty line that ends it.
  virtual void token(const TokenEvent& token, std::string& out) const = 0;
  /// Appends the usage, if requested, after all tokens; `tokens` as for done().
  virtual void usage(std::uint64_t tokens, std::string& out) const = 0;
  /// Without an end marker, only the end of the stream shows that the reply is complete.
  virtual bool has_end_mark() const { return true; }
  /// Appends the end marker. `tokens`: number of all choices' tokens; `finish`: how the first
  /// choice ended.
  virtual void done(std::uint64_t tokens, Finish finish, std::string& out) const = 0;
  /// The reply in one piece; `tokens` as for done().
  virtual std::string whole(std::span<const ChoiceText> choices, std::uint64_t tokens) const = 0;
};

std::unique_ptr<ReplyFormat> make_reply_format(Dialect dialect, ReplyFacts facts);

}  // namespace assay::server

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

/// What the events of a reply say besides its tokens. "Usage" is OpenAI's word for the numbers of
/// tokens of prompt and reply.
struct ReplyFacts {
  std::uint64_t request = 0;  ///< number of the request, which becomes OpenAI's id
  std::string model;          ///< ServedModelFacts::name
  std::int64_t created = 0;   ///< Unix seconds
  std::uint64_t prompt_tokens = 0;
  bool usage = false;             ///< the reply says its usage
  bool continuous_usage = false;  ///< with `usage`: each event of OpenAI's says it
  /// OpenAI's events of tokens say when they were written: "sim_sent_ns", ns of the steady clock.
  bool stamps = false;
  bool return_ids = false;  ///< OpenAI's choices carry their token ids, as vLLM's do
};

/// One choice of a reply, as OpenAI calls each of several answers, from its first token to now.
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
  std::uint64_t number = 0;           ///< among the tokens of its choice, from 1
  std::string_view text;              ///< as between the quotes in JSON
  bool last = false;                  ///< the last token of its choice
  std::uint32_t id = 0;               ///< in the vocabulary
  Finish finish = Finish::length;     ///< how the choice ends, if `last`
  const ChoiceText* whole = nullptr;  ///< the text of the choice, if `last` and needs_whole()
  const ChosenLogprobs* logprobs = nullptr;  ///< null: not wanted
  std::uint64_t offset = 0;  ///< with `logprobs`: Unicode characters of the choice before it
};

/// Writes one reply in the format of one API. Functions with `out` append to it, or nothing if the
/// format has no such part. A derived class implements the pure functions, and the others where its
/// format has more than tokens and an end.
class ReplyFormat {
 public:
  virtual ~ReplyFormat() = default;
  /// Returns whether a choice's first token has an event of its own before it.
  virtual bool has_opening() const { return false; }
  /// Appends that event.
  virtual void opening(std::size_t /*choice*/, std::string& /*out*/) const {}
  /// Returns whether the last token's event repeats the text of the choice.
  virtual bool needs_whole() const { return false; }
  /// Appends the event of a token, with the empty line that ends it.
  virtual void token(const TokenEvent& token, std::string& out) const = 0;
  /// Appends the event of the usage after all tokens if ReplyFacts::usage is set and the usage is
  /// not in another event; `tokens` as for done().
  virtual void usage(std::uint64_t tokens, std::string& out) const = 0;
  /// Returns whether an end marker shows that a stream is complete; otherwise only its end does.
  virtual bool has_end_mark() const { return true; }
  /// Appends the end marker. `tokens`: number of all choices' tokens; `finish`: how the first
  /// choice ended.
  virtual void done(std::uint64_t tokens, Finish finish, std::string& out) const = 0;
  /// Returns the reply in one piece, for a client that wants no stream; `tokens` as for done().
  /// `choices` has at least one element; only OpenAI's formats have room for more than the first.
  virtual std::string whole(std::span<const ChoiceText> choices, std::uint64_t tokens) const = 0;
};

/// Never returns null.
std::unique_ptr<ReplyFormat> make_reply_format(Dialect dialect, ReplyFacts facts);

}  // namespace assay::server

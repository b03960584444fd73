// Turns text into token ids and back. A server knows nothing else of its model's vocabulary.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace assay::server {

/// The text of the tokens of one reply, in which a character may take several tokens.
class TextStream {
 public:
  virtual ~TextStream() = default;
  /// Appends the characters that `token` completes, in UTF-8; none, if it ends within one.
  virtual void append(std::uint32_t token, std::string& text) = 0;
  /// Appends what the last token left incomplete.
  virtual void end(std::string& text) = 0;
};

/// May be used by several threads at once.
class TextTokens {
 public:
  virtual ~TextTokens() = default;
  /// Returns whether making tokens takes only nanoseconds for each byte, whatever the text; if not,
  /// it is done beside the event loop (Aside).
  virtual bool is_quick() const { return true; }
  /// Appends the tokens of `text`.
  virtual void append(std::string_view text, std::vector<std::uint32_t>& tokens) const = 0;
  /// Appends the tokens of a chat's message. The tokens of a chat that goes on begin with those of
  /// the messages before, so that this prefix is found in the cache.
  virtual void append_message(std::string_view role, std::string_view text,
                              std::vector<std::uint32_t>& tokens) const = 0;
  /// Appends the tokens that stand between a chat's last message and the reply.
  virtual void end_chat(std::vector<std::uint32_t>& tokens) const = 0;
  /// The bytes that a token adds to a text, or how a special one is written; they may be a part of
  /// a character. Empty, if tokens stand for no text, as in the simulator.
  virtual std::string bytes_of(std::uint32_t /*token*/) const { return {}; }
  /// Returns the text of a new reply; null if tokens stand for no text.
  virtual std::unique_ptr<TextStream> stream() const { return nullptr; }
};

}  // namespace assay::server

// What the two ends of a new connection say first: that both know the run's secret, and what the
// caller wants. Every connection between ranks begins with it, and nothing else judges who is at
// the other end: strangers, and addresses that lead to another program, are found here.
#pragma once

#include <string>
#include <string_view>

#include "core/descriptor.h"
#include "core/result.h"

namespace assay {

/// One end's part of a greeting on a non-blocking socket. Both ends say a random number, the caller
/// first; then the caller sends its request with an HMAC of the request and both numbers, keyed
/// with the secret, and the called end accepts or refuses with an HMAC of its own. So the secret is
/// never sent, what was heard of one greeting is of no use in another, and the called end shows
/// nothing to a caller that does not know the secret. No byte that follows the greeting is read.
/// What follows it is neither encrypted nor signed.
class Greeting {
 public:
  static constexpr std::size_t most_text = 1000;  ///< bytes of a request or a reason

  /// The end that calls. `request` says for what, in at most `most_text` bytes.
  static Greeting calling(std::string_view secret, std::string request);
  /// The end that was called.
  static Greeting called(std::string_view secret);

  /// The event to poll the socket for before the next advance(): POLLIN or POLLOUT.
  short awaits() const;
  /// Continues as far as it can without waiting. True: the caller was accepted, or the called end
  /// has heard a request with the right proof, which it now has to accept or refuse. False: more
  /// must arrive. Error: failed, if the other end is not one of this run or refused; a caller with
  /// the wrong proof has then been told.
  Result<bool> advance(const Descriptor& socket);
  /// For the called end: the caller's request.
  const std::string& request() const { return text_; }
  /// For the called end: answers the request. Error: failed if the caller is gone.
  Status accept(const Descriptor& socket);
  /// For the called end: tells the caller why it is refused, if it still listens.
  void refuse(const Descriptor& socket, std::string_view reason);
  /// For the caller after an error: an end that knows the secret refused, and will again.
  bool refused() const { return refused_; }

 private:
  enum class Step { greet, await_number, await_answer, await_greeting, await_request };

  Greeting(std::string_view secret, Step first);
  Status say(const Descriptor& socket, char kind, std::string_view value, std::string_view text);
  /// True: a whole message has been heard, and is in kind_, value_ and text_.
  Result<bool> hear(const Descriptor& socket);
  /// Acts on the message heard. True: the greeting is complete.
  Result<bool> judge(const Descriptor& socket);
  /// What an end shows with a message of `kind` to prove that it knows the secret.
  std::string proof(char kind, std::string_view text) const;

  std::string secret_;
  Step step_;
  bool refused_ = false;
  std::string request_;                        // of the caller
  std::string caller_number_, called_number_;  // random, 64 hexadecimal digits each
  std::string heard_;                          // of the message that arrives
  char kind_ = 0;
  std::string value_, text_;
};

/// Advances `greeting` until it is true, for at most `seconds`. Error: as Greeting::advance(), or
/// failed if the other end was silent.
Status finish_greeting(Greeting& greeting, const Descriptor& socket, double seconds);

/// A new secret: 32 random hexadecimal digits.
std::string new_token();

}  // namespace assay

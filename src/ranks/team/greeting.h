// What the two ends of a new connection say first: that both know the run's secret, and what the
// caller wants. Every connection between ranks begins with it, and nothing else judges who is at
// the other end: strangers, and addresses that lead to another program, are found here.
#pragma once

#include <string>
#include <string_view>

#include "core/descriptor.h"
#include "core/result.h"

namespace assay {

/// One end's part of a greeting on a non-blocking socket. The caller shows the secret and its
/// request; the called end accepts or refuses and shows the secret too. The secret itself is never
/// sent, and what one end shows does not tell what the other must show. No byte that follows the
/// greeting is read.
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
  /// has heard a request with the right secret, which it now has to accept or refuse. False: more
  /// must arrive. Error: failed, if the other end is not one of this run or refused; a caller with
  /// the wrong secret has then been told.
  Result<bool> advance(const Descriptor& socket);
  /// For the called end: the caller's request.
  const std::string& request() const { return text_; }
  /// For the called end: answers the request. Error: failed if the caller is gone.
  Status accept(const Descriptor& socket);
  /// For the called end: tells the caller why it is refused, if it still listens.
  void refuse(const Descriptor& socket, std::string_view reason);
  /// For the caller after an error: the other end is assay and refused, and will again.
  bool refused() const { return refused_; }

 private:
  Greeting(std::string_view secret, bool caller);
  Status say(const Descriptor& socket, char kind, std::string_view text) const;
  /// True: a whole message has been heard, and is in kind_ and text_.
  Result<bool> hear(const Descriptor& socket);
  Result<bool> judge(const Descriptor& socket);

  bool caller_;
  bool spoken_ = false, refused_ = false;
  std::string own_proof_, other_proof_;
  std::string heard_, text_;
  char kind_ = 0;
};

/// Advances `greeting` until it is true, for at most `seconds`. Error: as Greeting::advance(), or
/// failed if the other end was silent.
Status finish_greeting(Greeting& greeting, const Descriptor& socket, double seconds);

/// A new secret: 32 random hexadecimal digits.
std::string new_token();

}  // namespace assay

// The handshake at the beginning of every connection between ranks: both ends prove that they know
// the run's secret, and the caller says what it wants. Only this code judges who is at the other
// end; it detects strangers, addresses that lead to another program, and other builds of assay.
#pragma once

#include <string>
#include <string_view>

#include "core/descriptor.h"
#include "core/result.h"

namespace assay {

/// Returns "0.1.0 (1d9fd9b45a12)": equal for programs of the same source that git knows.
const std::string& own_build();

/// One end of a greeting on a non-blocking socket. Both ends send a random number, the caller
/// first. Then the caller sends its build and its request with an HMAC of these and both numbers,
/// keyed with the secret. The called end accepts, or refuses with a reason, each with an HMAC of
/// its own; it refuses a caller of another build, whose messages might mean something else. So the
/// secret is never sent, an overheard greeting is of no use in another one, and the called end
/// reveals nothing to a caller that does not know the secret. No byte that follows the greeting is
/// read. Traffic after the greeting is neither encrypted nor signed.
class Greeting {
 public:
  static constexpr std::size_t most_text = 1000;  ///< bytes of a request or a reason

  /// Makes the calling end. `request` says what it wants; with the build it has at most `most_text`
  /// bytes.
  static Greeting calling(std::string_view secret, std::string request,
                          std::string_view build = own_build());
  /// Makes the called end.
  static Greeting called(std::string_view secret);

  /// Returns the event to poll the socket for before the next advance(): POLLIN or POLLOUT.
  short awaits() const;
  /// Continues as far as it can without waiting. Returns true if the caller was accepted, or if the
  /// called end has received a request with a valid proof, which it must now accept or refuse.
  /// Returns false if more must arrive. Error: failed, if the other end is gone, does not belong
  /// to this run, is of another build, or refused. A caller with a wrong proof or build has then
  /// been told.
  Result<bool> advance(const Descriptor& socket);
  /// Returns the caller's request; only for the called end.
  const std::string& request() const { return request_; }
  /// Accepts the request; only for the called end. Error: failed if the caller is gone.
  Status accept(const Descriptor& socket);
  /// Tells the caller why it is refused, if it still listens; only for the called end.
  void refuse(const Descriptor& socket, std::string_view reason);
  /// Returns, for the caller after an error, whether an end that knows the secret refused. It would
  /// refuse again.
  bool refused() const { return refused_; }

 private:
  enum class Step { greet, await_number, await_answer, await_greeting, await_request };

  Greeting(std::string_view secret, Step first);
  Status say(const Descriptor& socket, char kind, std::string_view value, std::string_view text);
  /// Returns true once a whole message has arrived, and is in kind_, value_ and text_.
  Result<bool> hear(const Descriptor& socket);
  /// Acts on the received message. Returns true if the greeting is complete.
  Result<bool> judge(const Descriptor& socket);
  /// Takes the received request, if it comes from the same build; refuses it otherwise.
  Result<bool> take_request(const Descriptor& socket);
  /// Returns what an end sends with a message of `kind` to prove that it knows the secret.
  std::string proof(char kind, std::string_view text) const;

  std::string secret_;
  Step step_;
  bool refused_ = false;
  std::string request_;                        // of the caller, who keeps its build before it
  std::string caller_number_, called_number_;  // random, 64 hexadecimal digits each
  std::string heard_;                          // the arrived part of a message
  char kind_ = 0;
  std::string value_, text_;
};

/// Advances `greeting` until it returns true, for at most `seconds`. Error: as Greeting::advance(),
/// or failed if the other end was silent.
Status finish_greeting(Greeting& greeting, const Descriptor& socket, double seconds);

/// Returns a new secret: 32 random hexadecimal digits.
std::string new_token();

}  // namespace assay

#include "ranks/team/greeting.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <random>

#include "core/hash.h"
#include "core/shown_text.h"
#include "core/units.h"
#include "core/version.h"

namespace assay {
namespace {

using Clock = std::chrono::steady_clock;

// A message consists of the magic, which changes with the protocol; a kind; a value, which is the
// sender's number or its proof; the length of the text in four digits; and the text.
constexpr std::string_view greeting_magic = "assay/3 ";
constexpr char caller_kind = 'c', called_kind = 's';                      // with a number
constexpr char request_kind = '?', accept_kind = '+', refuse_kind = '-';  // with a proof
constexpr std::size_t most_build = 80;  // bytes shown of another build's name
constexpr std::size_t value_bytes = 64, length_digits = 4;
constexpr std::size_t greeting_bytes = greeting_magic.size() + 1 + value_bytes + length_digits;

/// Compares in constant time, so the duration does not reveal how much of a proof is right.
bool same_proof(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace

Greeting::Greeting(std::string_view secret, Step first) : secret_(secret), step_(first) {}

Greeting Greeting::calling(std::string_view secret, std::string request, std::string_view build) {
  Greeting greeting(secret, Step::greet);
  greeting.request_ = fmt::format("{}\n{}", build, request);
  return greeting;
}

Greeting Greeting::called(std::string_view secret) {
  return {secret, Step::await_greeting};
}

short Greeting::awaits() const {
  return step_ == Step::greet ? POLLOUT : POLLIN;
}

Result<bool> Greeting::advance(const Descriptor& socket) {
  if (step_ == Step::greet) {
    caller_number_ = new_token() + new_token();
    TRY(say(socket, caller_kind, caller_number_, ""));
    step_ = Step::await_number;
  }
  while (TRY(hear(socket))) {
    if (TRY(judge(socket))) return true;
  }
  return false;
}

Result<bool> Greeting::judge(const Descriptor& socket) {
  const bool known = same_proof(value_, proof(kind_, text_));
  switch (step_) {
    case Step::await_greeting:
      if (kind_ != caller_kind) break;
      caller_number_ = value_;
      called_number_ = new_token() + new_token();
      TRY(say(socket, called_kind, called_number_, ""));
      step_ = Step::await_request;
      return false;
    case Step::await_number:
      if (kind_ != called_kind) break;
      called_number_ = value_;
      TRY(say(socket, request_kind, proof(request_kind, request_), request_));
      step_ = Step::await_answer;
      return false;
    case Step::await_request:
      if (kind_ == request_kind && known) return take_request(socket);
      refuse(socket, "wrong token");
      break;
    case Step::await_answer:
      if (kind_ == accept_kind && known) return true;
      if (kind_ != refuse_kind) break;
      refused_ = known;
      return Error{ErrorKind::failed, shown_line(text_, 200)};
    case Step::greet:
      break;
  }
  return Error{ErrorKind::failed, "the other end does not know this run's token"};
}

Result<bool> Greeting::take_request(const Descriptor& socket) {
  const std::size_t line_end = text_.find('\n');
  const std::string build = text_.substr(0, line_end);
  if (build != own_build()) {
    const std::string why = fmt::format(
        "it is assay {}, and the other end is assay {}; start the same program on every rank",
        shown_line(build, most_build), own_build());
    refuse(socket, why);
    return Error{ErrorKind::failed, "a caller was refused: " + why};
  }
  request_ = text_.substr(line_end + 1);
  return true;
}

std::string Greeting::proof(char kind, std::string_view text) const {
  return hmac_sha256_hex(secret_, fmt::format("{}{}{}{}{}", greeting_magic, kind, caller_number_,
                                              called_number_, text));
}

Result<bool> Greeting::hear(const Descriptor& socket) {
  std::size_t whole = greeting_bytes;
  for (;;) {
    if (heard_.size() >= greeting_bytes) {
      const auto length =
          parse_integer(heard_.substr(greeting_bytes - length_digits, length_digits));
      if (!length.ok() || *length > most_text) break;
      whole = greeting_bytes + *length;
      if (heard_.size() == whole) {
        kind_ = heard_[greeting_magic.size()];
        value_ = heard_.substr(greeting_magic.size() + 1, value_bytes);
        text_ = heard_.substr(greeting_bytes);
        heard_.clear();
        return true;
      }
    }
    std::array<char, greeting_bytes + most_text> buffer;
    const ssize_t got = ::recv(socket.number(), buffer.data(), whole - heard_.size(), MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return false;
    if (got < 0) return Error{ErrorKind::failed, std::strerror(errno)};
    if (got == 0) return Error{ErrorKind::failed, "the other end closed the connection"};
    heard_.append(buffer.data(), static_cast<std::size_t>(got));
    const std::size_t both = std::min(heard_.size(), greeting_magic.size());
    if (heard_.compare(0, both, greeting_magic, 0, both) != 0) break;
  }
  return Error{ErrorKind::failed, "the program at the other end is not this version of assay"};
}

/// Sends a message, which always fits into the buffer of a new connection.
Status Greeting::say(const Descriptor& socket, char kind, std::string_view value,
                     std::string_view text) {
  const std::string bytes =
      fmt::format("{}{}{}{:04}{}", greeting_magic, kind, value, text.size(), text);
  const ssize_t sent = ::send(socket.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (sent == static_cast<ssize_t>(bytes.size())) return {};
  return Error{ErrorKind::failed, sent < 0 ? std::strerror(errno) : "it takes no data"};
}

Status Greeting::accept(const Descriptor& socket) {
  return say(socket, accept_kind, proof(accept_kind, ""), "");
}

void Greeting::refuse(const Descriptor& socket, std::string_view reason) {
  const std::string_view text = reason.substr(0, most_text);
  (void)say(socket, refuse_kind, proof(refuse_kind, text), text).ok();
}

Status finish_greeting(Greeting& greeting, const Descriptor& socket, double seconds) {
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  while (!TRY(greeting.advance(socket))) {
    const std::chrono::duration<double> left = end - Clock::now();
    pollfd file{socket.number(), greeting.awaits(), 0};
    if (left.count() <= 0 || ::poll(&file, 1, static_cast<int>(left.count() * 1000) + 1) == 0) {
      return Error{ErrorKind::failed, "the other end says nothing"};
    }
  }
  return {};
}

const std::string& own_build() {
  static const std::string build = fmt::format("{} ({})", version(), git_hash());
  return build;
}

std::string new_token() {
  std::random_device entropy;  // a secret must not depend on the seed
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", entropy(), entropy(), entropy(), entropy());
}

}  // namespace assay

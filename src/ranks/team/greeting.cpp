#include "ranks/team/greeting.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <random>

#include "core/hash.h"
#include "core/units.h"

namespace assay {
namespace {

using Clock = std::chrono::steady_clock;

// A message is: the magic, which changes with the protocol; a kind; a proof; the length of the text
// in four digits; the text.
constexpr std::string_view greeting_magic = "assay/1 ";
constexpr char request_kind = '?', accept_kind = '+', refuse_kind = '-';
constexpr std::size_t proof_bytes = 64, length_digits = 4;
constexpr std::size_t greeting_bytes = greeting_magic.size() + 1 + proof_bytes + length_digits;

/// What an end shows to prove that it knows the secret.
std::string proof_of(std::string_view secret, bool caller) {
  return sha256_hex(
      fmt::format("assay greeting of the {} {}", caller ? "caller" : "called", secret));
}

/// Compares in constant time, so the duration does not reveal how much of a proof is right.
bool same_proof(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned char difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference = static_cast<unsigned char>(difference | (a[i] ^ b[i]));
  }
  return difference == 0;
}

/// Text from the other end, made fit for a message of one line.
std::string shown(std::string_view text) {
  std::string safe(text.substr(0, 200));
  for (char& c : safe) {
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = ' ';
  }
  return safe;
}

}  // namespace

Greeting::Greeting(std::string_view secret, bool caller)
    : caller_(caller),
      own_proof_(proof_of(secret, caller)),
      other_proof_(proof_of(secret, !caller)) {}

Greeting Greeting::calling(std::string_view secret, std::string request) {
  Greeting greeting(secret, true);
  greeting.text_ = std::move(request);
  return greeting;
}

Greeting Greeting::called(std::string_view secret) {
  return {secret, false};
}

short Greeting::awaits() const {
  return caller_ && !spoken_ ? POLLOUT : POLLIN;
}

Result<bool> Greeting::advance(const Descriptor& socket) {
  if (caller_ && !spoken_) {
    TRY(say(socket, request_kind, text_));
    spoken_ = true;
  }
  if (!TRY(hear(socket))) return false;
  return judge(socket);
}

Result<bool> Greeting::judge(const Descriptor& socket) {
  const std::string_view proof =
      std::string_view(heard_).substr(greeting_magic.size() + 1, proof_bytes);
  const bool known = same_proof(proof, other_proof_);
  if (caller_ && kind_ == refuse_kind) {
    refused_ = true;
    return Error{ErrorKind::failed, shown(text_)};
  }
  if (known && kind_ == (caller_ ? accept_kind : request_kind)) return true;
  if (!caller_) refuse(socket, "wrong token");
  return Error{ErrorKind::failed, "the other end does not know this run's token"};
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
        text_ = heard_.substr(greeting_bytes);
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

/// A message always fits into the buffer of a new connection.
Status Greeting::say(const Descriptor& socket, char kind, std::string_view text) const {
  const std::string bytes =
      fmt::format("{}{}{}{:04}{}", greeting_magic, kind, own_proof_, text.size(), text);
  const ssize_t sent = ::send(socket.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (sent == static_cast<ssize_t>(bytes.size())) return {};
  return Error{ErrorKind::failed, sent < 0 ? std::strerror(errno) : "it takes no data"};
}

Status Greeting::accept(const Descriptor& socket) {
  return say(socket, accept_kind, "");
}

void Greeting::refuse(const Descriptor& socket, std::string_view reason) {
  (void)say(socket, refuse_kind, reason.substr(0, most_text)).ok();
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

std::string new_token() {
  std::random_device entropy;  // a secret: must not depend on the seed
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", entropy(), entropy(), entropy(), entropy());
}

}  // namespace assay

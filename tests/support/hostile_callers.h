// Callers that are not ranks: they send what strangers, scanners and attackers send to a port of a
// run.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <list>
#include <optional>
#include <string>

#include "core/tcp.h"
#include "ranks/team/greeting.h"

namespace assay {

/// Returns what a caller that knows `secret` sends in one whole greeting.
inline std::string recorded_greeting(const std::string& secret, const std::string& request) {
  std::array<int, 2> ends = {};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
  std::array<int, 2> tap = {};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, tap.data()), 0);
  const Descriptor caller(ends[0]), wire(ends[1]), far_wire(tap[0]), called(tap[1]);
  Greeting calling = Greeting::calling(secret, request), answering = Greeting::called(secret);
  std::string said;
  std::array<char, 2000> text;
  for (int message = 0; message < 2; ++message) {
    EXPECT_FALSE(calling.advance(caller).value());
    ssize_t got = ::recv(wire.number(), text.data(), text.size(), MSG_DONTWAIT);
    said.append(text.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    EXPECT_EQ(::send(far_wire.number(), text.data(), static_cast<std::size_t>(got), 0), got);
    EXPECT_EQ(answering.advance(called).value(), message == 1);  // the messages are valid
    if (message == 1) break;
    got = ::recv(far_wire.number(), text.data(), text.size(), MSG_DONTWAIT);
    EXPECT_EQ(::send(wire.number(), text.data(), static_cast<std::size_t>(got), 0), got);
  }
  return said;
}

class HostileCallers {
 public:
  static constexpr int kinds = 10;

  /// `request` is what a rank would ask for; `secret` is that of the run, which only the replayed
  /// greeting uses.
  HostileCallers(const std::string& secret, std::string request)
      : request_(std::move(request)), replay_(recorded_greeting(secret, request_)) {}

  /// Makes the next connection, of a different kind than the last. Returns false if nobody listens.
  bool call(int port) {
    auto connected = connect_to("127.0.0.1", port, 5);
    if (!connected) return false;
    Caller& caller = open_.emplace_back();
    caller.socket = std::move(*connected);
    const std::string zeros(64, '0');
    switch (made_++ % kinds) {
      case 0:  // silent
        break;
      case 1:  // gone at once
        open_.pop_back();
        break;
      case 2:
        say(caller, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
        break;
      case 3:  // an older version's words
        say(caller, "assay/2 ?" + zeros + "0000");
        break;
      case 4:  // half a greeting, then silence
        say(caller, "assay/3 c" + zeros.substr(32));
        break;
      case 5:  // half a greeting, then a reset
        say(caller, "assay/3 c" + zeros.substr(32));
        reset(caller.socket);
        open_.pop_back();
        break;
      case 6:  // endless words after a right beginning
        say(caller, "assay/3 c" + zeros + "0000");
        say(caller, std::string(1 << 20, 'x'));
        break;
      case 7:
        say(caller, replay_);
        break;
      case 8:  // a right greeting but for the proof
        caller.greeting = Greeting::calling("a guess of the secret", request_);
        break;
      case 9:  // a text longer than allowed
        say(caller, "assay/3 c" + zeros + "9999" + std::string(9999, 'x'));
        break;
    }
    go_on();
    return true;
  }
  int made() const { return made_; }

  /// Continues callers that wait for an answer; drops the oldest if there are many.
  void go_on() {
    for (auto at = open_.begin(); at != open_.end();) {
      const bool ended = at->greeting && !at->greeting->advance(at->socket).ok();
      at = ended ? open_.erase(at) : std::next(at);
    }
    constexpr std::size_t most_open = 500;
    while (open_.size() > most_open) open_.pop_front();
  }

 private:
  struct Caller {
    Descriptor socket;
    std::optional<Greeting> greeting;
  };

  static void say(const Caller& caller, const std::string& text) {
    (void)::send(caller.socket.number(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  static void reset(const Descriptor& socket) {
    const linger now = {1, 0};
    ::setsockopt(socket.number(), SOL_SOCKET, SO_LINGER, &now, sizeof(now));
  }

  const std::string request_, replay_;
  int made_ = 0;
  std::list<Caller> open_;
};

}  // namespace assay
